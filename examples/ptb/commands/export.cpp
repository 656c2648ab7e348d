// ptb export: a trained model in a form that runs without this program.
#include "examples/ptb/commands/commands.h"
#include "examples/ptb/export/c_model.h"
#include "examples/ptb/export/onnx_model.h"
#include "export/program/export_command.h"

namespace ptb {

void export_model(Command& command) {
  static constexpr ExportTarget<SavedModel> targets[] = {
      {"onnx", ".onnx", "for ONNX Runtime and others that read this format", write_onnx},
      {"c", ".h", "a C header of one step", write_c},
      {"c8", ".h", "a C header of one step, with 8 bits a weight", write_c_in_8_bits}};
  command.describe(
      "Writes a trained model in a form that runs without this program: it reads words by their ids and scores the next one. "
      "ONNX reads many steps at once, a C header one. Both keep the state and have the words.");
  export_command<SavedModel>(command, targets, load_model);
}

}  // namespace ptb
