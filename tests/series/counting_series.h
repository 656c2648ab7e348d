// A series whose values say where they stand.
#pragma once

#include <string>
#include <vector>

#include "examples/timeseries/series/series.h"
#include "tests/support.h"

// Channel c of row r holds 100 r + c.
inline unroll::Series counting(int64_t rows, int channels = 1) {
  std::vector<std::string> names;
  for (int c = 0; c < channels; ++c) names.push_back(fmt::format("c{}", c));
  std::vector<double> values;
  for (int64_t r = 0; r < rows; ++r)
    for (int c = 0; c < channels; ++c) values.push_back(static_cast<double>(100 * r + c));
  return unroll::make_series(names, values);
}
