// timeseries export: a trained model in a form that runs without this program.
#include <memory>
#include <optional>

#include "examples/timeseries/commands/commands.h"
#include "examples/timeseries/export/c_series.h"
#include "examples/timeseries/export/onnx_pretrained.h"
#include "examples/timeseries/export/onnx_series.h"
#include "examples/timeseries/pretrained/model_file.h"
#include "examples/timeseries/pretrained/pretrained.h"
#include "export/program/export_command.h"

namespace timeseries {

namespace {

constexpr const char* bundled_word = "pretrained";

// A model of a series, or a pretrained forecaster.
struct ExportedModel {
  std::optional<SavedModel> saved;
  std::unique_ptr<PretrainedNetwork> pretrained;
};

ExportedModel load(const std::filesystem::path& path) {
  const bool is_bundled = path == bundled_word && !std::filesystem::exists(path);
  const SafetensorsFile file = is_bundled ? bundled_forecaster() : SafetensorsFile(path);
  if (file.metadata().contains("forecaster")) return {{}, read_forecaster(file)};
  return {read_saved_model(path), nullptr};
}

void to_onnx(const std::filesystem::path& out, const ExportedModel& model) {
  model.pretrained ? write_onnx(out, *model.pretrained) : write_onnx(out, *model.saved);
}

template <int bits>
void to_c(const std::filesystem::path& out, const ExportedModel& model) {
  model.pretrained ? write_c(out, *model.pretrained, bits) : write_c(out, *model.saved, bits);
}

}  // namespace

void export_model(Command& command) {
  static constexpr ExportTarget<ExportedModel> targets[] = {
      {"onnx", ".onnx", "for ONNX Runtime and others that read this format", to_onnx},
      {"c", ".h", "a C header that forecasts from one window", to_c<32>},
      {"c8", ".h", "a C header that forecasts from one window, with 8 bits a weight", to_c<8>}};
  command.describe(
      "Writes a trained model in a form that runs without this program: it reads windows and gives forecasts, both in "
      "the units of the file that trained it. Intervals stay here, and so do the numbers of "
      "a calendar, which the program computes of times. The word \"pretrained\" stands for the forecaster that ships with "
      "the program, whose inputs are scaled outside.");
  export_command<ExportedModel>(command, targets, load);
}

}  // namespace timeseries
