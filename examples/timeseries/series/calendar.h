// Days, months and weekdays as counts, for the times of a series and the steps between them.
#pragma once

#include <chrono>
#include <cstdint>

namespace unroll {

// Microseconds.
constexpr int64_t one_second = 1'000'000, one_hour = 3600 * one_second, one_day = 24 * one_hour;

inline int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

// Microseconds since midnight. `moment`: microseconds since 1970-01-01.
inline int64_t time_of_day(int64_t moment) { return moment - floor_div(moment, one_day) * one_day; }

// Days since 1970-01-01.
inline int64_t days_of(int64_t year, int month, int of_month) {
  using namespace std::chrono;
  return sys_days(std::chrono::year(static_cast<int>(year)) /
                  std::chrono::month(static_cast<unsigned>(month)) /
                  std::chrono::day(static_cast<unsigned>(of_month)))
      .time_since_epoch()
      .count();
}

inline int days_in_month(int64_t year, int month) {
  using namespace std::chrono;
  const year_month_day_last last(std::chrono::year(static_cast<int>(year)),
                                 month_day_last(std::chrono::month(static_cast<unsigned>(month))));
  return static_cast<int>(static_cast<unsigned>(last.day()));
}

// Monday 0.
inline int weekday_of(int64_t days) { return static_cast<int>(days + 3 - 7 * floor_div(days + 3, 7)); }

// A month since year 0, and a day of it, from 1.
struct MonthDay {
  int64_t month;
  int day;
};
inline MonthDay month_day(int64_t days) {
  using namespace std::chrono;
  const year_month_day date{sys_days{std::chrono::days{days}}};
  return {int64_t{12} * static_cast<int>(date.year()) + static_cast<unsigned>(date.month()) - 1,
          static_cast<int>(static_cast<unsigned>(date.day()))};
}
inline int days_in_month(int64_t month) {
  const int64_t year = floor_div(month, 12);
  return days_in_month(year, static_cast<int>(month - 12 * year) + 1);
}
inline int64_t days_of(const MonthDay& at) {
  const int64_t year = floor_div(at.month, 12);
  return days_of(year, static_cast<int>(at.month - 12 * year) + 1, at.day);
}

}  // namespace unroll
