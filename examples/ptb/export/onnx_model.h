// A language model as ONNX.
#pragma once

#include <filesystem>

#include "examples/ptb/model/saved_model.h"

namespace ptb {

// Inputs `ids` [steps, batch] and the states, lstm.h say; outputs `logits` [steps, batch, vocab] of the words after them, of a
// mixture of softmaxes `log_p`, and the states after the last step, lstm.h_next. The file's metadata are those of a model's
// file: the recipe, and the words in the order of their ids. Throws InputError as export/onnx.h.
void write_onnx(const std::filesystem::path& path, const SavedModel& saved);

}  // namespace ptb
