// The series compiled into the program: tables of figures from data/series/*.csv.
#pragma once

#include <span>
#include <string_view>

namespace timeseries {

struct BundledSeries {
  std::string_view name, text;
};
std::span<const BundledSeries> bundled_series();  // sorted by name

}  // namespace timeseries
