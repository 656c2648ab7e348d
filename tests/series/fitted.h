// A baseline of the first channel, fitted to some rows.
#pragma once

#include "examples/timeseries/baselines/baselines.h"

inline unroll::Fitted fitted(unroll::Fitted (*fit)(const unroll::BaselineRows&), const unroll::Series& series,
                             const unroll::Part& train, const unroll::BaselineKeys& keys) {
  const std::vector<int> first = {0};
  return fit({keys, series, series.rows(), train, first});
}
