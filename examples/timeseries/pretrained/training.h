// The training of the pretrained forecaster: one run in a folder, like any other.
#pragma once

#include <map>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "examples/timeseries/pretrained/batches.h"
#include "examples/timeseries/pretrained/network.h"
#include "training/program/run/session.h"

namespace timeseries {

// The model's file that a finished run leaves in its folder.
inline constexpr const char* forecaster_file = "forecaster.safetensors";

// Sums over the series of validation, in units of their scales.
struct PretrainScore {
  double loss = 0;                 // pinball, over values and levels
  double naive = 0;                // that of the seasonal naive forecast at every level
  int64_t inside = 0, values = 0;  // between the quantiles .1 and .9
  void operator+=(const PretrainScore& other);
  double mean() const { return loss / static_cast<double>(values); }
  double relative() const { return loss / naive; }
  double coverage() const { return static_cast<double>(inside) / static_cast<double>(values); }
};

class Pretraining {
 public:
  Pretraining(RunOptions options, const PretrainRecipe& recipe);
  Pretraining(const Pretraining&) = delete;  // the session refers to it
  Pretraining& operator=(const Pretraining&) = delete;

  void run() { session_.run(); }
  void dry_run() { session_.dry_run(); }

 private:
  TrainingTask task();
  TrainingRun training_run();
  Metadata metadata() const;
  RunDescription description() const;
  WindowLoss loss(const SyntheticBatch& batch) const;
  // By kind of series, and by the segments of their contexts ("up to 32 rows").
  void score();
  RunDescription::Table table() const;
  void write(const std::filesystem::path& folder) const;  // the forecaster's file
  void report(std::optional<double> valid, RunDescription& description);

  const RunOptions options_;
  const PretrainRecipe recipe_;
  const Console console_;
  PretrainedNetwork network_;
  BatchesAhead batches_;
  int epoch_ = 1;
  PretrainScore all_;  // of the last validation
  std::map<std::string, PretrainScore, std::less<>> by_kind_, by_length_;
  Session session_;
};

}  // namespace timeseries
