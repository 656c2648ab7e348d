// Conformal intervals: which errors set a width, when they are known, and how many values lie within.
#include "data/series/conformal.h"

#include <cmath>

#include "tests/support.h"

using namespace unroll;

namespace {

using Values = std::vector<double>;

// A series of one channel whose windows of two rows have a standard deviation of 1, and so a scale of 1, until a row is set.
Series zigzag(int rows) {
  Values values;
  for (int row = 0; row < rows; ++row) values.push_back(row % 2 ? 1 : -1);
  return make_series({"y"}, values);
}
SeriesWindows windows_over(const Series& series, int horizon = 1) {
  return SeriesWindows(series, {.shift = {0}, .scale = {1}}, {{2, series.rows(), 0}}, "test",
                       {.window = 2, .horizon = horizon});
}

// How far an interval around 0 reaches at that origin.
double reach(ConformalInterval& interval, int64_t origin, std::size_t step = 0) {
  const auto count = static_cast<std::size_t>(interval.options().steps);
  Values low(count, 0), high(count, 0);
  interval.widen(origin, low, high);
  CHECK((std::isnan(high[step]) || high[step] == -low[step]));
  return high[step];
}

// Tells it that the forecast was so far off.
void err(ConformalInterval& interval, const Series& series, int64_t origin, double by, bool chose = false) {
  const Values forecast = {series.at(origin, 0) - by};
  interval.learn(origin, forecast, forecast, chose);
}

}  // namespace

TEST_CASE("a width is the eighth of eight errors, and waits for each to be known") {
  const Series series = zigzag(60);
  const SeriesWindows windows = windows_over(series);
  ConformalInterval interval(windows, {});
  for (int k = 0; k < 7; ++k) err(interval, series, 10 + k, 1 + k);
  CHECK(std::isnan(reach(interval, 17)));  // seven are too few
  err(interval, series, 17, 0.5);
  CHECK(std::isnan(reach(interval, 17)));  // the eighth is that of row 17 itself
  CHECK_FALSE(interval.is_known());
  CHECK(reach(interval, 18) == 7);
  CHECK(interval.is_known());
  for (int k = 0; k < 6; ++k) err(interval, series, 18 + k, 0.1);
  CHECK(reach(interval, 24) == 5);  // ⌈15 · 0.8⌉ = 12th of 14: 1 to 7, 0.5 and six of 0.1
}

TEST_CASE("a later step's errors are known later") {
  const Series series = zigzag(60);
  const SeriesWindows windows = windows_over(series, 3);
  ConformalInterval interval(windows, {.steps = 3});
  for (int64_t origin = 10; origin < 18; ++origin) {
    Values forecast;
    for (int step = 0; step < 3; ++step) forecast.push_back(series.at(origin + step, 0) + step + 1);
    interval.learn(origin, forecast, forecast, false);
  }
  CHECK(reach(interval, 18, 0) == 1);
  CHECK(std::isnan(reach(interval, 18, 1)));
  CHECK(reach(interval, 19, 1) == 2);
  CHECK(std::isnan(reach(interval, 19, 2)));
  CHECK(reach(interval, 20, 2) == 3);
}

TEST_CASE("errors are known in order of their rows, whichever were told first") {
  const Series series = zigzag(60);
  const SeriesWindows windows = windows_over(series);
  ConformalInterval interval(windows, {});
  for (int64_t row = 11; row < 59; row += 2) err(interval, series, row, 1, true);
  for (int64_t row = 10; row < 26; row += 2) reach(interval, row), err(interval, series, row, 2);
  // By row 26 seven others have each taken the place of the row before theirs, which chose; row 25's is left.
  CHECK(reach(interval, 26) == 2);
  CHECK(interval.known().chose == 1);
  CHECK(interval.known().others == 8);
}

TEST_CASE("errors of rows that chose the model leave one by one, then the oldest of 500") {
  const Series series = zigzag(1400);
  const SeriesWindows windows = windows_over(series);
  ConformalInterval interval(windows, {});
  for (int k = 0; k < 10; ++k) err(interval, series, 10 + k, 0.01, true);
  CHECK(reach(interval, 20) == doctest::Approx(0.01));
  for (int k = 0; k < 10; ++k) {
    CHECK(interval.known().chose == 10 - k);
    CHECK(interval.known().others == k);
    err(interval, series, 20 + k, 3);
    reach(interval, 21 + k);
  }
  CHECK(interval.known().chose == 0);
  CHECK(reach(interval, 30) == doctest::Approx(3));
  for (int k = 0; k < 600; ++k) err(interval, series, 30 + k, 1), reach(interval, 31 + k);
  CHECK(interval.known().others == 500);
  CHECK(reach(interval, 630) == doctest::Approx(1));
}

TEST_CASE(
    "a width follows the cube root of its window's deviation, and never of less than a tenth of the training rows'") {
  Series series = zigzag(60);
  for (int64_t row = 30; row < 40; ++row) series.values[static_cast<std::size_t>(row)] *= 5;
  for (int64_t row = 40; row < 60; ++row) series.values[static_cast<std::size_t>(row)] = 2;
  const SeriesWindows windows = windows_over(series);
  ConformalInterval interval(windows, {});
  for (int k = 0; k < 8; ++k) err(interval, series, 10 + k, 2);
  CHECK(reach(interval, 20) == doctest::Approx(2));
  CHECK(reach(interval, 36) == doctest::Approx(2 * std::cbrt(5)));
  CHECK(reach(interval, 50) == doctest::Approx(2 * std::cbrt(0.1)));
}

TEST_CASE("deciles of a point forecast are the ends of its intervals; of quantiles they lie on lines") {
  const Series series = zigzag(60);
  const SeriesWindows windows = windows_over(series);
  ConformalInterval interval(windows, {.least = {-5}, .most = {100}});
  const Values at = {3};
  CHECK(std::isnan(interval.deciles(9, at, at, at)[4]));
  for (int k = 0; k < 9; ++k) err(interval, series, 10 + k, 1 + k);
  // Of nine errors the second, the fourth, the sixth and the eighth.
  CHECK(interval.deciles(20, at, at, at) == Values{-5, -3, -1, 1, 3, 5, 7, 9, 11});
  ConformalInterval between(windows,
                            {.level = 0.9, .least = {}, .most = {}, .has_quantiles = true, .lower = 0.05});
  const Values deciles = between.deciles(9, Values{2}, Values{-7}, Values{6.5});
  for (int k = 0; k < decile_count; ++k)
    CHECK(deciles[static_cast<std::size_t>(k)] == doctest::Approx(2 + (k < 4 ? 2 : 1) * (k - 4)));
  ConformalInterval narrow(windows,
                           {.level = 0.5, .least = {}, .most = {}, .has_quantiles = true, .lower = 0.25});
  const Values within = narrow.deciles(9, Values{2}, Values{1}, Values{3});
  CHECK((std::isnan(within[0]) && std::isnan(within[1]) && std::isnan(within[8])));  // beyond its ends
  CHECK(within[2] == doctest::Approx(1.2));
}

TEST_CASE("how seldom an error is: the share of those known that are not less, itself among them") {
  const Series series = zigzag(60);
  const SeriesWindows windows = windows_over(series);
  ConformalInterval interval(windows, {});
  for (int k = 0; k < 9; ++k) {
    CHECK(std::isnan(interval.p_values(10 + k, Values{1})[0]) == (k < 8));
    err(interval, series, 10 + k, 1 + k);
  }
  CHECK(interval.p_values(20, Values{100})[0] == 0.1);  // of 1 to 9 none
  CHECK(interval.p_values(20, Values{9})[0] == 0.2);
  CHECK(interval.p_values(20, Values{0})[0] == 1);
  CHECK(std::isnan(interval.p_values(20, Values{std::nan("")})[0]));
}

TEST_CASE("quantiles are widened, narrowed, and left where too few errors are known") {
  const Series series = zigzag(60);
  const SeriesWindows windows = windows_over(series);
  for (const double by : {0.25, -0.25}) {
    ConformalInterval interval(windows, {.least = {}, .most = {}, .has_quantiles = true});
    Values low = {-1}, high = {2};
    interval.widen(9, low, high);
    CHECK(low[0] == -1);
    CHECK(high[0] == 2);
    for (int64_t origin = 10; origin < 18; ++origin)
      interval.learn(origin, Values{series.at(origin, 0) - 3}, Values{series.at(origin, 0) - by}, false);
    interval.widen(18, low, high);
    CHECK(low[0] == -1 - by);
    CHECK(high[0] == 2 + by);
  }
}

TEST_CASE("an interval keeps to its bounds, and what was filled in tells it nothing") {
  Series series = zigzag(60);
  series.filled.assign(60, 0);
  const SeriesWindows windows = windows_over(series);
  ConformalInterval interval(windows, {.least = {-0.5}, .most = {4}});
  for (int k = 0; k < 8; ++k) err(interval, series, 10 + k, 2);
  series.filled[18] = 1;
  err(interval, series, 18, 100);
  Values low = {1}, high = {1};
  interval.widen(20, low, high);
  CHECK(low[0] == -0.5);
  CHECK(high[0] == 3);
  CHECK(interval.known().others == 8);
  low = high = {3};
  interval.widen(20, low, high);
  CHECK(high[0] == 4);
  CHECK(lacks(input_error_of([&] { ConformalInterval(windows, {.level = 1}); }), {"a level of 1"}) == "");
}

// Of 4000 values of noise whose spread doubles half way, so many lie within that chance explains the rest: 80 % give or take
// three standard deviations of 4000 draws, and 1 % for the rows after the change.
TEST_CASE("80 % of the values lie within, also after the noise has changed") {
  RandomStream random(3, "conformal");
  Values values;
  for (int row = 0; row < 4100; ++row)
    values.push_back((row < 2000 ? 1 : 2) * (random.uniform() + random.uniform() - 1));
  const Series series = make_series({"y"}, values);
  const SeriesWindows windows(series, {.shift = {0}, .scale = {1}}, {{40, series.rows(), 0}}, "test",
                              {.window = 40});
  ConformalInterval interval(windows, {});
  int within = 0, counted = 0;
  for (int64_t origin = 40; origin < series.rows(); ++origin) {
    Values low = {0}, high = {0};
    interval.widen(origin, low, high);
    if (origin >= 100) ++counted, within += std::abs(series.at(origin, 0)) <= high[0];
    interval.learn(origin, Values{0}, Values{0}, false);
  }
  CHECK(counted == 4000);
  CHECK(std::abs(within / 4000.0 - 0.8) < 3 * std::sqrt(0.16 / 4000) + 0.01);
}
