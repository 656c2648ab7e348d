// Gradient statistics over a model's training text, by which dynamic evaluation divides (optim/dynamic_evaluation.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "examples/ptb/model/saved_model.h"
#include "examples/ptb/text/text.h"

namespace ptb {

// Computes R over a training text in 100 streams, in windows of 5 steps, with carried state and without dropout. If
// `progress` is true, shows the progress on standard error. Throws InputError if the text is too short or a gradient is
// not finite, and Interrupted.
struct MadeStatistics {
  Tensor root_mean_square;  // laid out as the parameters
  int64_t windows;
};
MadeStatistics make_statistics(LanguageModel& model, std::span<const int32_t> tokens,
                               std::span<const int64_t> documents, bool progress = false);

// "best.safetensors" has "best.statistics.safetensors" beside it.
std::filesystem::path statistics_path(const std::filesystem::path& model);

// The statistics of a file. If the file does not exist, they are made once and written to it.
class Statistics {
 public:
  // Reads the file `path`; if it does not exist, the training text in `data`. Throws InputError, Error, also if the
  // file could not be written later.
  Statistics(SavedModel& saved, std::filesystem::path path, const std::filesystem::path& data);
  // Returns the file's statistics, or makes them and writes the file. Making takes about as long as an epoch of
  // training and shows its progress on standard error. Sets `said` to a line about either. Throws InputError, Error,
  // Interrupted; then nothing was written.
  Tensor root_mean_square(std::string& said);

 private:
  LanguageModel& model_;
  std::filesystem::path path_;
  Tensor stored_;
  SplitText text_;
};

}  // namespace ptb
