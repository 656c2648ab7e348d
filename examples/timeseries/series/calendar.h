// Days, months and weekdays of the times of a series, which are moments: microseconds since 1970-01-01.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace unroll {

// Microseconds.
constexpr int64_t one_second = 1'000'000, one_hour = 3600 * one_second, one_day = 24 * one_hour;

inline int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

inline int64_t day_of(int64_t moment) { return floor_div(moment, one_day); }  // days since 1970-01-01
inline int64_t midnight_of(int64_t moment) { return day_of(moment) * one_day; }
inline int64_t time_of_day(int64_t moment) { return moment - midnight_of(moment); }
// Monday 0.
inline int weekday_of(int64_t moment) {
  const int64_t days = day_of(moment) + 3;  // 1970 began on a Thursday
  return static_cast<int>(days - 7 * floor_div(days, 7));
}

// The midnight that begins a day. None: no calendar has it. Requires: a month and a day below 256.
inline std::optional<int64_t> date_of(int64_t year, int64_t month, int64_t day) {
  const std::chrono::year_month_day date(std::chrono::year(static_cast<int>(year)),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day)));
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date).time_since_epoch().count() * one_day;
}

// The begin of a week as the United States' CDC counts them: on Sundays, the first one with January 4. None: the year has no such week.
inline std::optional<int64_t> week_from_sunday(int64_t year, int week) {
  const auto first = [](int64_t of) {
    const int64_t day = *date_of(of, 1, 4);
    return day - (weekday_of(day) + 1) % 7 * one_day;
  };
  const int64_t at = first(year) + int64_t{7} * (week - 1) * one_day;
  return week >= 1 && at < first(year + 1) ? std::optional(at) : std::nullopt;
}

// A month since year 0, and a day of it, from 1.
struct MonthDay {
  int64_t month;
  int day;
};
inline MonthDay month_day(int64_t moment) {
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{day_of(moment)}}};
  return {int64_t{12} * static_cast<int>(date.year()) + static_cast<unsigned>(date.month()) - 1,
          static_cast<int>(static_cast<unsigned>(date.day()))};
}
inline int64_t moment_of(const MonthDay& at) {
  const int64_t year = floor_div(at.month, 12);
  return *date_of(year, at.month - 12 * year + 1, at.day);
}
inline int days_in_month(int64_t month) {
  return static_cast<int>(day_of(moment_of({month + 1, 1})) - day_of(moment_of({month, 1})));
}

}  // namespace unroll
