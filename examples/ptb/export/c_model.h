// A language model as a C header.
#pragma once

#include <filesystem>

#include "examples/ptb/model/saved_model.h"
#include "export/step_plan.h"

namespace ptb {

// The step of a model: a token to the logits of the next one, or a mixture's log p. Throws Error as StepBuilder.
StepPlan step_plan(const LanguageModel& model);

// Writes it as a C header whose names begin as the file's, with the vocabulary's words.
void write_c(const std::filesystem::path& path, const SavedModel& saved);
void write_c_in_8_bits(const std::filesystem::path& path, const SavedModel& saved);

}  // namespace ptb
