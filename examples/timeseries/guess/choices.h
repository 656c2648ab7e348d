// Segments of a window and features of the calendar, as a guessed network reads them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "examples/timeseries/series/season.h"
#include "examples/timeseries/series/time_step.h"

namespace timeseries {

using namespace unroll;

inline int64_t clamped(int64_t value, int64_t least, int64_t most) {
  return std::max(least, std::min(value, most));
}

// The divisor of the window by which it has nearest to 12 steps.
inline int64_t segment_of(int64_t window) {
  int64_t best = 1;
  const auto distance = [&](int64_t s) {
    return std::abs(std::log(static_cast<double>(window) / static_cast<double>(s) / 12));
  };
  for (int64_t s = 1; s <= window; ++s)
    if (window % s == 0 && distance(s) < distance(best)) best = s;
  return best;
}

// The calendar features of a series with a season.
inline std::vector<std::string> calendar_of(const Season& season, const TimeStep& step, int64_t rows) {
  std::vector<std::string> features;
  if (calendar_periods(step, rows).empty()) return features;
  for (const int64_t period : {season.period, season.second_period}) {
    if (period <= 1) continue;
    // The place within a cycle: of an hour the minute, of a year of months the month.
    constexpr const char* places[] = {"minute", "hour", "weekday", "day", "day_of_year"};
    const CalendarPeriod of = calendar_period(period, step);
    features.push_back(of == CalendarPeriod::year && step.unit == TimeStep::Unit::month
                           ? "month"
                           : places[static_cast<size_t>(of)]);
  }
  return features;
}

}  // namespace timeseries
