// Series of a text, and why one is refused.
#pragma once

#include <string>
#include <string_view>

#include "examples/timeseries/series/series.h"
#include "tests/support.h"

namespace series_text {

using namespace unroll;

inline Series parse(std::string_view text, const SeriesOptions& options = {}) {
  return parse_series(text, "x.csv", options);
}

inline std::string refusal(std::string_view text, const SeriesOptions& options = {}) {
  return input_error_of([&] { parse(text, options); });
}

}  // namespace series_text
