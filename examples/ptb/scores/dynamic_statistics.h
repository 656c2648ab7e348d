// The statistics of gradients that dynamic evaluation divides by (optim/dynamic_evaluation.h), of a model's training text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "examples/ptb/model/saved_model.h"
#include "examples/ptb/text/text.h"

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

// Those in a file, or those that are made once and kept there.
class Statistics {
 public:
  // Reads the file `path`; if there is none, the training text in `data`. Throws InputError, Error: also where the file could
  // not be written later.
  Statistics(SavedModel& saved, std::filesystem::path path, const std::filesystem::path& data);
  // If there was no file, makes them, which takes about as long as an epoch of training, shows the progress on standard error,
  // and writes the file. `said` is a line about either. Throws InputError, Error, Interrupted; then nothing was written.
  Tensor root_mean_square(std::string& said);

 private:
  LanguageModel& model_;
  std::filesystem::path path_;
  Tensor stored_;
  SplitText text_;
};

}  // namespace ptb
