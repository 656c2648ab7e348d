// `evaluate --tune`: chooses the settings of dynamic evaluation, the temperature and the cache on the validation text.
#pragma once

#include <cstdio>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "examples/ptb/model/saved_model.h"
#include "examples/ptb/scores/dynamic_score.h"
#include "examples/ptb/scores/tune_table.h"

namespace ptb {

// Tuning in stages: the rate at the default decay, the decay, the temperature, the cache. Each stage uses the best of
// the stages before. If the best rate or decay is at the border of its grid, that grid is extended.
struct TunePlan {
  std::string mode = "full";
  int64_t tokens = 20'000;  // of the validation text, its first
  std::vector<double> rates = {3e-5, 4e-5, 5e-5, 6e-5, 7e-5, 1e-4}, decays = {1e-3, 2e-3, 3e-3, 5e-3};
  int most_extensions = 4;  // of a grid
  std::vector<int> windows = {500, 2000};
  std::vector<double> thetas = {0.1, 0.2, 0.4, 0.7, 1}, lambdas = {0.02, 0.05, 0.1, 0.15};
};
// The plan of a mode, "full" or "quick". "quick" takes a tenth of the time: fewer trials of fewer tokens.
TunePlan tune_plan(const std::string& mode);

struct Tuned {
  DynamicSettings dynamic;
  double temperature = 1;
  std::optional<NeuralCacheConfig> cache;  // none: every one made the score worse
  double static_perplexity = 0, perplexity = 0;
  int64_t tokens = 0;  // of the text of a trial
  int64_t scored = 0;  // tokens, in all trials that no table had
};

// Whatever tune() works on.
struct TuneInput {
  LanguageModel& model;
  ScoredText text;  // the plan's tokens to validate on, and the documents that begin there
  const Tensor& statistics;
  const TunePlan& plan;
  TuneTable& table;
  std::FILE* out;
};
// Makes the trials that the table lacks. Prints a line for each on `out` and the progress on standard error. Restores
// the model's weights. Throws InputError, Interrupted.
Tuned tune(const TuneInput& input);

// The whole command: statistics, table, trials, and the line that scores the test split.
struct TuneCommand {
  std::string checkpoint, data, statistics, mode;
  bool json = false;
};
void run_tune(const TuneCommand& command, SavedModel& saved, const std::string& program);

}  // namespace ptb
