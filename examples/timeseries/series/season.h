// Finds the season of a series from the time between its rows and from its values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "examples/timeseries/series/time_step.h"

namespace unroll {

struct Season {
  int64_t period = 1, second_period = 0;  // in rows; 1: no season; the second is longer, 0: none
  std::string why = {};                   // "a day of 24 rows: strength 0.52"; if none, why
  std::string longer = {};  // a calendar period of which the rows hold one, but not the two it takes
};
std::string to_text(const Season& season);  // "7 and 365 rows", "none"

// The number of rows in an hour, a day, a week, a year, at least 2, ascending: those that are whole, or so nearly that over all
// `rows` they drift by at most a 24th of the period, and by what stamps jitter. The mean of a wave over such a drift, w = 1/24, keeps
// sin(πw) / πw = 0.997 of its height, and the last rows are half of it off: by 2 sin(πw/2) = 0.13 of the height.
std::vector<int64_t> calendar_periods(const TimeStep& step, int64_t rows);
// One of these, by its length.
enum class CalendarPeriod : uint8_t { hour, day, week, month, year };
CalendarPeriod calendar_period(int64_t period, const TimeStep& step);
double variance(std::span<const double> values);  // the mean square distance from the mean; NaN of none

// The strength of a season (Wang, Smith and Hyndman 2006): 1 - var(rest) / var(season + rest). The trend is a
// moving average over the period, the season the mean at each of its places. It is corrected for what so few
// periods would find in noise: about 0 in noise, 1 for a pure season. With fewer than two and a half periods the
// trend is a line, from the change between periods. NaN: fewer than two periods, or rows on a line.
double strength_of_season(std::span<const double> y, int64_t period);

// The first calendar period with strength 0.2 or more is the season; with fewer than two and a half periods it
// needs 0.5. The next one that reaches this after the first season is taken off is the second; a week beside a day needs 0.1.
//
// A step without calendar periods has the stronger of two seasons:
// * By the differences' autocorrelation, if its largest local maximum is at least max(0.3, 2/√n) for n differences. The season
//   is the first maximum, after the first negative value, that has 0.8 times as much. A higher value before 1.5 times that lag
//   replaces it, and then the lag within a twelfth whose multiples have the highest sum.
// * By the means of each eighth of a period, as differences lose a smooth season beneath noise. It needs four periods, and to be
//   stronger than the first by 0.02, or a part of it and weaker by less than that.
// The second season is seven of the first, if those means show it.
Season find_season(std::span<const double> y, const TimeStep& step);
// The season that most of several series have, at one step. None if fewer than a quarter of those that change do.
Season season_of_most(const std::vector<std::vector<double>>& all, const TimeStep& step,
                      bool are_some = false);

}  // namespace unroll
