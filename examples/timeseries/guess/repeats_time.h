// Whether a column of numbers only repeats the time of its rows.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "examples/timeseries/series/calendar.h"
#include "examples/timeseries/series/times.h"

namespace timeseries {

using namespace unroll;

// Each number is the same part of its row's time, as the year or the month; or a clock that shows it; or the row's place in its day.
class RepeatsTime {
 public:
  // `value`: NaN for a cell that is no number.
  void add(double value, const Time& time) {
    const CalendarTime at = calendar_of(time);
    const int month = 100 * at.year + at.month, hour = time.form == TimeForm::date_time ? at.hour : -1,
              code = 1'000'000 * at.year + 101 * at.month;  // of Japan's statistics
    const std::array<int, parts> numbers = {
        at.year, at.month, (at.month + 2) / 3,   at.day, at.day_of_year, at.weekday + 1,
        hour,    month,    100 * month + at.day, code};
    for (std::size_t i = 0; i < parts; ++i) is_part_[i] = is_part_[i] && value == numbers[i];
    // Seconds, milli- and microseconds since 1970; days since 1899, and millionths of them; in any zone.
    constexpr double days_to_1970 = 25'569, zones = 1.1;
    const std::array<double, clocks> days = {value / 86'400, value / 86.4e6, value / 86.4e9,
                                             value - days_to_1970, value / 1e6 - days_to_1970};
    const double day = static_cast<double>(time.count) / static_cast<double>(one_day);
    for (std::size_t i = 0; i < clocks; ++i) is_clock_[i] = is_clock_[i] && std::abs(days[i] - day) <= zones;
    const bool is_same_day = rows_ > 0 && day_of(time.count) == day_;
    is_place_ = is_place_ && (rows_ == 0 || (is_same_day ? value == last_ + 1 : value == 0 || value == 1));
    places_ += is_same_day, day_ = day_of(time.count), last_ = value, ++rows_;
    shows_it_ = std::ranges::count(is_part_, true) + std::ranges::count(is_clock_, true) > 0;
  }
  bool may() const { return shows_it_ || is_place_; }  // so far
  bool holds() const {
    constexpr int64_t few = 8;  // a flag is 0 or 1 in the first row of a day, too
    return rows_ > few && (shows_it_ || (is_place_ && places_ > few));
  }

 private:
  static constexpr std::size_t parts = 10, clocks = 5;
  std::array<bool, parts> is_part_ = filled<parts>();
  std::array<bool, clocks> is_clock_ = filled<clocks>();
  bool shows_it_ = true, is_place_ = true;
  int64_t rows_ = 0, places_ = 0, day_ = 0;
  double last_ = 0;

  template <std::size_t N>
  static constexpr std::array<bool, N> filled() {
    std::array<bool, N> all;
    all.fill(true);
    return all;
  }
};

}  // namespace timeseries
