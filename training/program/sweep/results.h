// Results of a sweep's trials: a file in each trial's folder, and tables of them all.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "training/program/sweep/plan.h"
#include "training/report/run_description.h"

namespace unroll {

struct TrialResult {
  // The best validation score, as the run's report names it; none: nothing was validated.
  std::optional<double> best = {};
  int epoch = 0;  // after which that was
  int epochs = 0;
  int64_t steps = 0;
  double seconds = 0;       // of training
  bool perplexity = false;  // that is the score; else it is the loss
  std::string why = {};     // it failed: with what message; empty: it is done
  bool failed() const { return !why.empty(); }
};
using TrialResults = std::vector<std::optional<TrialResult>>;  // by trial; none: it is not at its end

constexpr const char* run_name = "run";  // of the run's folder, in the trial's

// Reads the finished run in a folder. Throws InputError as reading its files does.
TrialResult result_of_run(const std::filesystem::path& run);
// The trial's own file. Throws Error; InputError: it is damaged.
void write_result(const std::filesystem::path& trial, const TrialResult& result);
std::optional<TrialResult> read_result(const std::filesystem::path& trial);
void remove_result(const std::filesystem::path& trial);

// Trials that differ in nothing but their seed.
struct Configuration {
  std::vector<std::size_t> trials;  // their places in the plan
  int done = 0, failed = 0;
  // Over the trials that are done: mean, standard deviation (n - 1) and minimum of the best validation scores, and mean seconds
  // of training.
  std::optional<double> mean, spread, lowest, seconds;
};
std::vector<Configuration> configurations_of(const SweepPlan& plan, const TrialResults& results);
// That with the lowest mean; none: nothing is done yet.
std::optional<std::size_t> best_of(const std::vector<Configuration>& configurations);

// The table of configurations, in the plan's order.
RunDescription::Table table_of(const SweepPlan& plan, const TrialResults& results);
// Writes the same into the sweep's folder: table.csv, trials.csv with a line for each trial, and table.json with both. Throws
// Error.
void write_tables(const std::filesystem::path& folder, const SweepPlan& plan, const TrialResults& results);
// The text of table.json, in one line.
std::string tables_json(const std::filesystem::path& folder, const SweepPlan& plan,
                        const TrialResults& results);

// "perplexity", "loss"
const char* name_of_score(const TrialResults& results);
// "perplexity 12.31 after epoch 4 of 5, 0:23"
std::string in_words(const TrialResult& result);

}  // namespace unroll
