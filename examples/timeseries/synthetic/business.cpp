// Level, season and noise as a business has them, at the steps of a calendar.
#include <chrono>
#include <numbers>

#include "examples/timeseries/synthetic/kinds.h"
#include "examples/timeseries/synthetic/parts.h"

namespace unroll::synthetic {

namespace {

// The logarithm of a level: a random walk with drift, a slope that walks, a smooth trend, or a return to a mean; one in four has
// a business cycle of 3 to 12 years. It changes by 4 at most, a factor of 55.
Values log_level(Draw& draw, int rows, double rows_a_year) {
  enum Form { walks, slope_walks, smooth, returns };
  const Form form = draw.choose<Form>({{walks, 3.5}, {slope_walks, 2}, {smooth, 3}, {returns, 1.5}});
  const double drift = 0.02 + draw.normal(0.06);  // a year's
  const double sd =
      draw.of({0.005, 0.4}) / std::sqrt(rows_a_year);  // a row's; the prior is that after a year of a walk
  Values y = form == smooth ? trend_shape(draw, rows, {0.05, 2}) : noise(draw, rows, {sd, sd});
  if (form == returns) autoregress(y, {1 - draw.of({0.02, 0.6})});
  if (form == slope_walks) {
    autoregress(y, {1 - draw.of({0.005, 0.3})});
    for (double& v : y) v /= rows_a_year;
  }
  if (form == walks || form == slope_walks) {
    for (double& step : y) step += drift / rows_a_year;
    cumulate(y);
  }
  if (draw.chance(0.25)) {
    const double period = draw.uniform(3, 12) * rows_a_year, height = draw.of({0.01, 0.15});
    const double radius = std::exp(-1 / period);
    Values cycle = noise(draw, rows + static_cast<int>(2 * period));
    autoregress(cycle, {2 * radius * std::cos(2 * std::numbers::pi / period), -radius * radius});
    cycle.erase(cycle.begin(), cycle.end() - rows);
    standardize(cycle);
    add(y, cycle, height);
  }
  limit_range(y, 4);
  return y;
}

// Positive values of a level, a season (standard deviation 1, or empty) and noise, which multiply, or in a third add. Some have a
// value that is far off, or a level that shifts.
Values business(Draw& draw, int rows, double rows_a_year, const Values& season) {
  Values y = log_level(draw, rows, rows_a_year), around = noise(draw, rows, {0.002, 0.35});
  if (!season.empty()) add(around, season, draw.of({0.01, 0.6}));
  if (draw.chance(0.1)) around[draw.between(0, rows - 1)] += 0.5 * draw.sign();
  if (draw.chance(0.08)) {
    const double shift = draw.normal(0.4);
    for (int t = draw.between(0, rows - 1); t < rows; ++t) around[t] += shift;
  }
  if (draw.chance(0.65)) {
    add(y, around);
    exponentiate(y, 1, 6);
    return y;
  }
  exponentiate(y);
  double lowest = -0.95;  // of the level; a twentieth must be left
  for (int t = 0; t < rows; ++t) lowest = std::min(lowest, around[t] / y[t]);
  add(y, around, 0.95 / -lowest);
  return y;
}

Path with_season(Draw& draw, int rows, int m, double period) {  // in three of four
  const Values season = draw.chance(0.75) ? season_path(draw, rows, period) : Values{};
  return {business(draw, rows, period, season), m};
}

// Makes values sums over days: months differ in length and in weekdays.
void count_days(Draw& draw, Values& y) {
  using namespace std::chrono;
  double weight[7], sum = 0;  // of the days of a week
  const double spread = draw.of({0.05, 1});
  for (double& w : weight) sum += w = std::exp(draw.normal(spread));
  if (draw.chance(0.3)) sum -= weight[0] + weight[6], weight[0] = weight[6] = 0;  // closed at weekends
  year_month month = year{draw.between(1950, 2020)} / January;
  month += months{draw.between(0, 11)};
  for (double& v : y) {
    double open = 0;
    for (sys_days day = month / 1; day < sys_days{(month + months{1}) / 1}; day += days{1})
      open += weight[weekday{day}.c_encoding()] * 7 / sum;
    v *= open / 30.436875;  // the mean month of the Gregorian calendar
    month += months{1};
  }
}

}  // namespace

Path yearly(Draw& draw, int rows) { return {business(draw, rows, 1, {})}; }
Path quarterly(Draw& draw, int rows) { return with_season(draw, rows, 4, 4); }
Path monthly(Draw& draw, int rows) {
  Path path = with_season(draw, rows, 12, 12);
  if (draw.chance(0.25)) count_days(draw, path.y);
  return path;
}
Path weekly(Draw& draw, int rows) { return with_season(draw, rows, 52, 365.25 / 7); }

Path daily(Draw& draw, int rows) {
  Values seasons(rows);
  if (draw.chance(0.8)) add(seasons, season_path(draw, rows, 7));
  if (draw.chance(0.6)) add(seasons, season_path(draw, rows, 365.25, {0.2, 3}));
  if (draw.chance(0.1)) add(seasons, season_path(draw, rows, 365.25 / 12, {0.2, 1}));  // wages and rents
  Values y = business(draw, rows, 365.25, seasons);
  if (draw.chance(0.08))  // closed at weekends
    for (int t = 0, first = draw.between(0, 6); t < rows; ++t)
      if ((t + first) % 7 >= 5) y[t] = 0;
  return {y, 7};
}

// Each day has the shape of working days or of weekends, and a height of its own; a slow AR(1) is the weather.
Path within_a_day(Draw& draw, int rows) {
  const int day = draw.choose<int>({{24, 5}, {48, 2}, {96, 2}, {144, 1}}),
            first = draw.between(0, 7 * day - 1);
  const Values working = season_path(draw, rows, day), weekend = season_path(draw, rows, day);
  const double difference = draw.chance(0.6) ? draw.uniform(0.1, 1) : 0;  // of weekends
  const double lower = difference > 0 ? draw.normal(0.7) : 0, day_sd = draw.of({0.01, 0.5}),
               slow = draw.of({0.05, 2});
  Values weather = noise(draw, rows), y = noise(draw, rows, {0.01, 0.7});
  autoregress(weather, {1 - draw.of({0.3, 10}) / day});
  standardize(weather);
  add(y, weather, slow);
  double height = 1;
  for (int t = 0; t < rows; ++t) {
    if ((t + first) % day == 0) height = std::exp(draw.normal(day_sd));
    const bool is_weekend = (t + first) / day % 7 >= 5;
    y[t] += height * (working[t] + (is_weekend ? difference * (weekend[t] - working[t]) - lower : 0));
  }
  enum Form { demand, temperature, sun };
  const Form form = draw.choose<Form>({{demand, 5}, {temperature, 4}, {sun, 1}});
  if (form == demand) {
    standardize(y);
    exponentiate(y, draw.of({0.05, 0.8}), 6);
  }
  if (form == sun)  // nothing at night
    for (const double night = draw.uniform(-0.5, 0.7); double& v : y) v = std::max(0.0, v - night);
  return {y, day};
}

}  // namespace unroll::synthetic
