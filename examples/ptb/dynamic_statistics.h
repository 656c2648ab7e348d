// The statistics of gradients that dynamic evaluation divides by (optim/dynamic_evaluation.h), of a model's training text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "saved_model.h"

namespace ptb {

// R over the windows of a training text that is read in 100 streams, 5 steps at a time, the state carried, nothing dropped.
// With `progress`, standard error shows how far it is. Throws InputError if the text is too short or a gradient is not finite, and Interrupted.
struct MadeStatistics {
  Tensor root_mean_square;  // laid out as the parameters
  int64_t windows;
};
MadeStatistics make_statistics(LanguageModel& model, std::span<const int32_t> tokens,
                               std::span<const int64_t> documents, bool progress = false);

// "best.safetensors" has "best.statistics.safetensors" beside it.
std::filesystem::path statistics_path(const std::filesystem::path& model);

// Those in the file `path`. If there is none, makes them of the training text in `data`, which takes about as long as an epoch
// of training, shows the progress on standard error, and writes the file. `said` is a line about either. Throws InputError,
// Error, Interrupted; then nothing was written.
Tensor statistics_of(SavedModel& saved, const std::filesystem::path& path, const std::filesystem::path& data,
                     std::string& said);

}  // namespace ptb
