// Scores of a model and of the baselines on the same windows.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "examples/timeseries/model/interval.h"
#include "examples/timeseries/recipe/recipe.h"
#include "examples/timeseries/series/detection_scores.h"
#include "examples/timeseries/series/forecast_scores.h"

namespace timeseries {

constexpr size_t most_drawn = 120;

struct ForecastRow {
  std::string name;
  ForecastScores scores;
  double level = 0.8;  // the interval's level
};
struct DetectionRow {
  std::string name;
  DetectionScores scores;
  bool knows_labels = false;  // reads other rows' labels, which a detector does not see
};
// Scores of one part: `forecasts` or `detections`, depending on the task. The model, if there is one, comes first.
struct Evaluation {
  std::string part;
  const Recipe* recipe;
  int horizon = 1, targets = 1;
  std::vector<std::string> channels = {};  // forecast channels
  std::vector<std::string> members = {};   // names, if the file has several series
  // The number of channels, or series, in a sum of errors. If it is more than one, units may differ.
  size_t summed() const { return std::max(static_cast<size_t>(targets), members.size()); }
  int64_t targets_left_out = 0;  // filled-in values of the part, which do not count in scores
  std::vector<ForecastRow> forecasts = {};
  // The model's interval. None: no quantiles, and too few forecasts to measure it.
  std::optional<ForecastInterval> interval = {};
  // The model's forecasts to draw, with intervals: the last one, or the last `most_drawn` if the horizon is 1.
  std::deque<WindowForecast> drawn = {};
  std::vector<DetectionRow> detections = {};
  bool detects() const { return !detections.empty(); }
  std::string protocol = {};               // windows, scaling, seed, values left out
  std::vector<std::string> warnings = {};  // about the model: values far outside of its training values
  std::vector<std::string> details = {};   // about baselines: what was fitted to which rows
  std::vector<std::string> left_out = {};  // baselines that have too little history here
};

struct ForecastMeasure {
  const char *name, *key;  // "RMSE", "rmse"
  double ForecastErrors::*value;
};
// The main measure: RMSE; for several channels or series, whose units may differ, a scaled one.
const ForecastMeasure& summary_measure(size_t targets);

}  // namespace timeseries
