// Scores of a model and of the baselines on the same windows.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "examples/timeseries/networks/interval.h"
#include "examples/timeseries/recipe/recipe.h"
#include "examples/timeseries/series/detection_scores.h"
#include "examples/timeseries/series/forecast_scores.h"

namespace timeseries {

constexpr size_t most_drawn = 120;

struct ForecastRow {
  std::string name;
  ForecastScores scores;
  double level = 0.8;  // of its interval
};
struct DetectionRow {
  std::string name;
  DetectionScores scores;
  bool knows_labels = false;  // those of other rows, which a detector does not see
};
// One of the two lists, as the task is; the model comes first, if there is one.
struct Evaluation {
  std::string part;
  const Recipe* recipe;
  int horizon = 1, targets = 1;
  std::vector<std::string> channels = {};  // that are forecast
  std::vector<std::string> members = {};   // the series of a file that has several
  // Channels, or series, whose errors are summed up: more than one may have different units.
  size_t summed() const { return std::max(static_cast<size_t>(targets), members.size()); }
  bool full = true;              // all windows of the part are scored
  int64_t targets_left_out = 0;  // values of the part that were filled in, which nothing is scored on
  std::vector<ForecastRow> forecasts = {};
  // Of the model. None: no quantiles, and too few forecasts to measure it by.
  std::optional<ForecastInterval> interval = {};
  // Of the model, with their intervals: the last forecast, or as many as pictures show of one step each.
  std::deque<WindowForecast> drawn = {};
  std::vector<DetectionRow> detections = {};
  std::string protocol = {};               // windows, scaling, seed, and what was left out
  std::vector<std::string> warnings = {};  // of a model: values far outside of those that trained it
  std::vector<std::string> details = {};   // of baselines: what was fitted to which rows
  std::vector<std::string> left_out = {};  // baselines for which there is too little history here
};

struct ForecastMeasure {
  const char *name, *key;  // "RMSE", "rmse"
  double ForecastErrors::*value;
};
// The one that stands for all: RMSE; of several channels or series, whose units may differ, a scaled one.
const ForecastMeasure& summary_measure(size_t targets);

}  // namespace timeseries
