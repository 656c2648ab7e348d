// Watches a series: holds each value against a forecast from the rows before it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "examples/timeseries/data/series_data.h"
#include "examples/timeseries/model/interval.h"

namespace timeseries {

// A watched value: one row of one target.
struct WatchedValue {
  int64_t row = 0;
  size_t target = 0;
  double forecast = 0, low = 0, high = 0;
  double error = 0;  // in units of its window
  double p = 1;      // p-value of the error
};

struct Watch {
  std::vector<WatchedValue> values;  // in order of time
  int64_t known = 0;                 // errors known before the first row, by target
  std::string errors_of;             // "the folds"
  int64_t not_watched = 0;           // rows whose inputs lack values, as too few earlier ones did
};

// Watches every row of the windows, one step ahead. With several targets each p is multiplied by their number.
Watch watch(const Recipe& recipe, const SeriesData& data, SeriesWindows& windows, const Forecasts& forecasts);

}  // namespace timeseries
