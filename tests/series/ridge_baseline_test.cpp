// The ridge regression among the baselines: what it learns, from which rows, and how it goes on.
#include <cmath>
#include <limits>
#include <numbers>

#include "examples/timeseries/baselines/baselines.h"
#include "framework/random.h"
#include "tests/series/fitted.h"
#include "tests/support.h"

using namespace unroll;

namespace {

using Values = std::vector<double>;

Values forecast(const ForecastBaseline& baseline, const Series& series, int64_t origin, size_t steps) {
  Values values(steps);
  baseline.forecast(series, origin, 0, values);
  return values;
}

// y[t] = 1.6 y[t-1] - 0.9 y[t-2], kicked now and then so that it does not die away.
Series swinging(int rows) {
  Values y = {1, 1.5};
  for (int t = 2; t < rows; ++t)
    y.push_back(1.6 * y[static_cast<size_t>(t - 1)] - 0.9 * y[static_cast<size_t>(t - 2)] +
                (t % 37 == 0 ? 2 : 0));
  return make_series({"y"}, y);
}

}  // namespace

TEST_CASE("a ridge regression finds a rule that the window holds, for each step of the horizon") {
  const Series series = swinging(400);
  const auto found = fitted(ridge, series, {{0, 300, 0}}, {.window = 6, .horizon = 3});
  REQUIRE(found.has_value());
  CHECK(found->name == "ridge regression (6)");
  CHECK(found->history == 6);
  // Rows 302 to 331 have no kick among them or before the window.
  const Values values = forecast(*found, series, 310, 3);
  const double unit = std::abs(series.at(310, 0)) + std::abs(series.at(312, 0)) + 1;
  for (size_t h = 0; h < 3; ++h)
    CHECK(std::abs(values[h] - series.at(310 + static_cast<int64_t>(h), 0)) < 0.35 * unit);
}

TEST_CASE("a penalty of nearly nothing is least squares, a window and a season apart") {
  // Without noise the least penalty forecasts the last fifth best; then a wave of the season is found to the penalty's share.
  Values y;
  for (int t = 0; t < 240; ++t)
    y.push_back(10 + 3 * std::sin(2 * std::numbers::pi * t / 12) + std::cos(2 * std::numbers::pi * t / 6));
  const Series series = make_series({"y"}, y);
  for (const int64_t second : {0, 1}) {  // neither is a season
    const auto found = fitted(ridge, series, {{0, 200, 0}},
                              {.window = 4, .horizon = 12, .period = 12, .second_period = second});
    REQUIRE(found.has_value());
    const Values values = forecast(*found, series, 205, 12);
    for (size_t h = 0; h < 12; ++h)
      CHECK(std::abs(values[h] - series.at(205 + static_cast<int64_t>(h), 0)) < 0.02);
  }
}

TEST_CASE("beyond its horizon it goes on from its own forecasts") {
  Values y;
  for (int t = 0; t < 240; ++t) y.push_back(3 * std::sin(2 * std::numbers::pi * t / 12));
  const Series series = make_series({"y"}, y);
  const auto found = fitted(ridge, series, {{0, 200, 0}}, {.window = 13, .horizon = 4, .period = 12});
  const Values longer = forecast(*found, series, 200, 11), first = forecast(*found, series, 200, 4);
  for (size_t h = 0; h < 4; ++h) CHECK(longer[h] == first[h]);
  // As if what was forecast had come.
  Values known(y.begin(), y.begin() + 200);
  for (const double v : first) known.push_back(v);
  known.resize(240);
  const Values second = forecast(*found, make_series({"y"}, known), 204, 4);
  for (size_t h = 0; h < 4; ++h) CHECK(longer[4 + h] == second[h]);
}

TEST_CASE("it learns from no row beyond the part, and from no window with a filled-in target") {
  Series series = swinging(300);
  const auto before =
      forecast(*fitted(ridge, series, {{0, 200, 0}}, {.window = 5, .horizon = 2}), series, 200, 2);
  for (size_t row = 200; row < 300; ++row) series.values[row] = 1e6;
  CHECK(forecast(*fitted(ridge, series, {{0, 200, 0}}, {.window = 5, .horizon = 2}), series, 200, 2) ==
        before);
  // A wild value that was filled in is the target of none; it is read by windows, all of which are out of the part here.
  series.filled.assign(300, 0);
  Series changed = series;
  changed.values[199] = 1e6, changed.filled[199] = 1;
  Series same = series;
  same.filled[199] = 1;
  Values a(2), b(2);
  fitted(ridge, changed, {{0, 200, 0}}, {.window = 5, .horizon = 2})->forecast(series, 150, 0, a);
  fitted(ridge, same, {{0, 200, 0}}, {.window = 5, .horizon = 2})->forecast(series, 150, 0, b);
  // The unit of the waves is of all rows, and there are no waves.
  CHECK(a == b);
}

// Without a season a window of two rows has one feature, the first less the last, so that a penalty only shrinks the slopes.
// The forecast for `horizon` steps after all rows. The choice of the penalty uses origins before `early_end` to fit, and from
// `border` on to compare.
Values by_one_feature(const Values& y, int horizon, int early_end, int border) {
  const auto at = [&](int row) { return y[static_cast<size_t>(row)]; };
  const auto x = [&](int origin) { return at(origin - 2) - at(origin - 1); };
  const auto target = [&](int origin, int h) { return at(origin + h) - at(origin - 1); };
  const auto fit = [&](int end, int h, double share) {  // the constant and the slope
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0;
    for (int o = 2; o < end; ++o) mean_x += x(o) / (end - 2), mean_y += target(o, h) / (end - 2);
    for (int o = 2; o < end; ++o)
      xx += (x(o) - mean_x) * (x(o) - mean_x), xy += (x(o) - mean_x) * (target(o, h) - mean_y);
    const double slope = xy / (xx * (1 + share));
    return std::pair(mean_y - slope * mean_x, slope);
  };
  const int rows = static_cast<int>(y.size()), end = rows - horizon + 1;
  double best = 0, least = std::numeric_limits<double>::infinity();
  for (const double share : {1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0}) {
    double squares = 0;
    for (int h = 0; h < horizon; ++h) {
      const auto [constant, slope] = fit(early_end, h, share);
      for (int o = border; o < end; ++o) squares += std::pow(constant + slope * x(o) - target(o, h), 2);
    }
    if (squares < least) least = squares, best = share;
  }
  Values values;
  for (int h = 0; h < horizon; ++h) {
    const auto [constant, slope] = fit(end, h, best);
    values.push_back(at(rows - 1) + constant + slope * x(rows));
  }
  return values;
}

TEST_CASE("the penalty is chosen without rows that later origins could not know") {
  // The border is 12 rows before the end: a fifth of the rows would be 10, but five windows are compared. The fit of the early ones
  // ends with the window whose targets are the eight rows before the border.
  constexpr int rows = 50, horizon = 8, border = rows - 12, early_end = border - horizon + 1;
  RandomStream random(3, "walks");
  int others = 0;
  for (int trial = 0; trial < 40; ++trial) {
    Values y = {0};
    while (y.size() < rows) y.push_back(0.8 * y.back() + random.normal());
    const Values expected = by_one_feature(y, horizon, early_end, border);
    Series series = make_series({"y"}, y);
    const Values found = forecast(*fitted(ridge, series, {{0, rows, 0}}, {.window = 2, .horizon = horizon}),
                                  series, rows, horizon);
    for (size_t h = 0; h < horizon; ++h) CHECK(found[h] == doctest::Approx(expected[h]).epsilon(1e-9));
    others += by_one_feature(y, horizon, border, border) != expected;
  }
  CHECK(others > 3);  // the straddling windows would choose another penalty
}

TEST_CASE("too few windows, or a channel that does not change, have none") {
  const Series series = swinging(60);
  CHECK(!fitted(
      ridge, series, {{0, 21, 0}},
      {.window = 5, .horizon = 2}));  // 9 windows before the last six rows, which five windows forecast
  CHECK(fitted(ridge, series, {{0, 22, 0}}, {.window = 5, .horizon = 2}));
  CHECK(!fitted(ridge, make_series({"y"}, Values(60, 2.0)), {{0, 60, 0}}, {.window = 5, .horizon = 2}));
  CHECK(!fitted(ridge, series, {{0, 60, 0}}, {.window = 1, .horizon = 2}));  // it would read nothing
}

TEST_CASE("windows that would take too long to solve are not tried, and shorter ones stand in their place") {
  const Series series = make_series({"y"}, [] {
    RandomStream random(1, "long");
    Values y;
    for (int t = 0; t < 3000; ++t) y.push_back(std::sin(2 * std::numbers::pi * t / 24) + 0.1 * random.uniform());
    return y;
  }());
  const auto history = [&](const BaselineKeys& keys) {
    const auto found = fitted(ridge, series, {{0, 3000, 0}}, keys);
    REQUIRE(found.has_value());
    return found->history;
  };
  CHECK(history({.window = 0, .horizon = 600, .period = 24}) <= 72);  // not 600, nor 1,200
  // Windows of a season of 500 and of 700 rows to forecast: more than 7e7 multiplications to solve each.
  const auto long_season = history({.window = 0, .horizon = 700, .period = 500});
  CHECK((long_season >= 3 && long_season <= 24));
  // One row to forecast, by those three and six before it, and a season of 1,440 rows, too long to solve.
  RandomStream random(2, "lags");
  Values y(3000);
  for (size_t t = 6; t < y.size(); ++t) y[t] = 0.4 * y[t - 3] + 0.5 * y[t - 6] + random.uniform() - 0.5;
  const auto found = fitted(ridge, make_series({"y"}, y), {{0, 3000, 0}},
                            {.window = 0, .horizon = 1, .period = 1440});
  REQUIRE(found.has_value());
  CHECK((found->history >= 6 && found->history <= 24));
}

TEST_CASE("waves of both seasons are known, however short the window is") {
  Values y;
  for (int t = 0; t < 420; ++t)
    y.push_back(20 + std::cos(2 * std::numbers::pi * t / 6) +
                3 * std::sin(2 * std::numbers::pi * 3 * t / 42));
  const Series series = make_series({"y"}, y);
  const BaselineKeys keys{.window = 2, .horizon = 6, .period = 6, .second_period = 42};
  const Values found = forecast(*fitted(ridge, series, {{0, 400, 0}}, keys), series, 400, 20);
  for (size_t h = 0; h < 20; ++h) CHECK(std::abs(found[h] - y[400 + h]) < 0.05);
}
