#include "examples/timeseries/pretrained/model_file.h"

#include "framework/one_line.h"
#include "training/files/state_dict.h"

namespace timeseries {

// The version of the inputs (window.h): a change of what a network reads counts on.
constexpr const char* inputs_version = "1";

void write_forecaster(const std::filesystem::path& path, const PretrainRecipe& recipe,
                      const ParameterSet& params) {
  const Metadata metadata{{"format", "pt"},
                          {"program", "unroll timeseries"},
                          {"forecaster", inputs_version},
                          {"recipe_name", recipe.name},
                          {"recipe", pretrain_form.resolved(recipe)}};
  write_safetensors(path, state_dict(params), metadata, StoredAs::half);
}

std::unique_ptr<PretrainedNetwork> read_forecaster(const SafetensorsFile& file) {
  const Metadata& metadata = file.metadata();
  const auto version = metadata.find("forecaster"), text = metadata.find("recipe");
  require_input(version != metadata.end() && text != metadata.end(), "{}: not a pretrained forecaster",
                file.path());
  require_input(version->second == inputs_version,
                "{}: a pretrained forecaster of version {}, and this program reads {}", file.path(),
                one_line(version->second), inputs_version);
  const PretrainRecipe recipe =
      pretrain_form.load({.name = "", .origin = file.path() + ": recipe", .text = text->second},
                         {{"model.engine=auto"}, {"model.algorithm=auto"}});
  auto network = std::make_unique<PretrainedNetwork>(recipe.model.cell, recipe.model);
  const std::vector<std::string> others = load_state_dict(file, network->params);
  require_input(others.empty(), "{}: tensor '{}' is no part of a pretrained forecaster", file.path(),
                others.empty() ? "" : others.front());
  return network;
}

}  // namespace timeseries
