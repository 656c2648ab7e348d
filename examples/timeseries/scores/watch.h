// Watches a series: holds each value against a forecast from the rows before it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "examples/timeseries/data/series_data.h"
#include "examples/timeseries/model/interval.h"
#include "examples/timeseries/series/event_scores.h"

namespace timeseries {

// A watched value: one row of one target.
struct WatchedValue {
  int64_t row = 0;
  size_t target = 0;
  double forecast = 0, low = 0, high = 0;
  double error = 0;  // in units of its window
  double p = 1;      // p-value of the error
};

// The rule for anomalies: p is at most `rate`; or, if labels chose it, the error is at least `least_error`.
struct AnomalyRule {
  double rate = 0.01;
  std::optional<double> least_error = {};
  bool calls(const WatchedValue& value) const {
    return least_error ? value.error >= *least_error : value.p <= rate;
  }
};

struct Watch {
  std::vector<WatchedValue> values;  // in order of time
  int64_t known = 0;                 // errors known before the first row, by target
  std::string errors_of;             // "the folds"
  int64_t not_watched = 0;           // rows whose inputs lack values, as too few earlier ones did
};

// Watches every row of the windows, one step ahead. With several targets each p is multiplied by their number.
Watch watch(const Recipe& recipe, const SeriesData& data, SeriesWindows& windows, const Forecasts& forecasts);

// Scores what the rule calls in the rows [begin, end), which have these labels.
EventScores scores_of(const Watch& watch, const AnomalyRule& rule, const std::vector<int>& labels,
                      int64_t begin, int64_t end);
// The error threshold with the best F1 on these rows, half way to the next smaller error. None: none finds an event.
std::optional<double> best_error(const Watch& watch, const std::vector<int>& labels, int64_t begin,
                                 int64_t end);

}  // namespace timeseries
