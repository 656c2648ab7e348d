// The season of a series: found from the time between its rows and from its values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "examples/timeseries/series/time_step.h"

namespace unroll {

struct Season {
  int64_t period = 1, second_period = 0;  // in rows; 1: none; the second is longer, 0: none
  std::string why = {};  // "a day of hours: strength 0.52", "no strength above 0.2: a day has 0.02"
};

// Rows of an hour, a day, a week, a year, as far as the step makes whole numbers of them that are 2 or more, ascending.
std::vector<int64_t> calendar_periods(const TimeStep& step);

// The strength of a season (Wang, Smith and Hyndman 2006): 1 - var(rest) / var(season + rest), with the trend taken off by a
// moving average over the period, and the season as the mean of each of its rows. Less what the means of as few periods would
// find in noise, so about 0 there; 1: nothing else is there. Fewer rows than two and a half periods: the trend is a line, by the
// change from one period to the next. NaN: fewer than two periods, or rows on a line.
double strength_of_season(std::span<const double> y, int64_t period);

// The shortest calendar period of strength 0.2 or more, where there are fewer than two and a half of them 0.5; a longer one is
// the second, if it has that once the first season is taken off. Where the step has no calendar periods, the first local maximum of the differences' autocorrelation that is 0.3
// or more, and 0.8 times the largest; or a higher value before one and a half times its lag.
Season find_season(std::span<const double> y, const TimeStep& step);
// Of several series or columns, by the same step: the season that most of them have. None if fewer have it than a quarter of those
// that do not stay constant.
Season season_of_most(const std::vector<std::vector<double>>& all, const TimeStep& step);

}  // namespace unroll
