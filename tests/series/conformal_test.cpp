// Conformal intervals: which errors set a width, when they are known, and how many values lie within.
#include "examples/timeseries/series/conformal.h"

#include <algorithm>
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
  return SeriesWindows(series, {.channels = {{0, 1}}}, {{2, series.rows(), 0}}, "test",
                       {.window = 2, .horizon = horizon});
}

// How far an interval around 0 reaches at that origin.
double reach(ConformalInterval& interval, int64_t origin, std::size_t step = 0) {
  const auto count = static_cast<std::size_t>(interval.options().steps);
  Values values(count, 0), low(count, 0), high(count, 0);
  interval.widen(origin, values, low, high);
  CHECK((std::isnan(high[step]) || high[step] == -low[step]));
  return high[step];
}

// A forecast of one value with its interval.
struct Answer {
  double value, low, high;
};
Answer answer_of(ConformalInterval& interval, int64_t origin, double value) {
  Values values = {value}, low = values, high = values;
  interval.widen(origin, values, low, high);
  return {values[0], low[0], high[0]};
}
Answer answer_of(ConformalInterval& interval, int64_t origin, const Values& quantiles) {
  Values values = {quantiles[1]}, low = {quantiles[0]}, high = {quantiles[2]};
  interval.widen(origin, values, low, high);
  return {values[0], low[0], high[0]};
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

TEST_CASE("neither the row that is forecast nor a filled-in one is in a window's unit") {
  Series series = zigzag(60);
  series.filled.assign(60, 0);
  const SeriesWindows windows(series, {.channels = {{0, 1}}}, {{4, series.rows(), 0}}, "test", {.window = 4});
  ConformalInterval interval(windows, {});
  for (int k = 0; k < 8; ++k) err(interval, series, 10 + k, 2);
  series.values[20] = 1e6;
  CHECK(reach(interval, 20) == 2);
  series.values[20] = 1, series.values[19] = series.values[18] = 1, series.filled[18] = series.filled[19] = 1;
  CHECK(reach(interval, 20) == 2);  // of rows 16 and 17 alone
}

TEST_CASE(
    "0 bounds a forecast and its interval while no value of its series lies beyond, and what was filled in is none") {
  Series series = make_series({"y"}, Values(80, 3));
  series.filled.assign(80, 0);
  series.id_name = "id", series.members = {{"cold", 0, 30}, {"warm", 30, 80}};
  for (std::size_t row = 0; row < 30; ++row) series.values[row] = -8 + static_cast<double>(row % 2);
  series.values[40] = -1, series.filled[40] = 1;
  for (std::size_t row = 60; row < 80; ++row) series.values[row] = -2;
  const SeriesBounds bounds(series, {0}, {.least = {-9}, .most = {5}});
  CHECK((bounds.at(20, 0).most == 0 && std::isinf(bounds.at(20, 0).least)));
  CHECK((bounds.at(60, 0).least == 0 && bounds.text(60) == "not below 0"));
  CHECK((bounds.at(61, 0) == Bound{} && bounds.text(61).empty()));
  // In a series alone, only its own rows have trained.
  const Series warm = series.alone(1);
  CHECK(SeriesBounds(warm, {0}, {.least = {-9}, .most = {5}}).at(30, 0) == Bound{});
  CHECK(SeriesBounds(warm, {0}, {.least = {0}, .most = {5}}).at(30, 0).least == 0);
  CHECK(SeriesBounds(warm, {0}, {}).at(31, 0) == Bound{});
}

TEST_CASE(
    "how often a value is, is told by rows before the origin alone, however far ahead the forecast reaches") {
  Series series = make_series({"y"}, Values(40, 0));
  for (std::size_t row = 20; row < 40; ++row) series.values[row] = 1;
  for (const int64_t period : {1, 7}) {
    const SeriesBounds bounds(series, {0}, {.periods = {period}});
    for (const int64_t row : {20, 25, 36}) {
      CHECK(bounds.share_of(0, row, 20, 0) == 1);
      CHECK(bounds.share_of(1, row, 20, 0) == 0);
    }
  }
}

TEST_CASE("0 degrees are no bound, and no value that an interval must contain") {
  for (const char* name : {"y", "Mittel (°C)", "気温", "Temperature"}) {
    const bool is_bounded = std::string(name) == "y";
    Series series = make_series({name}, Values(40, 0));
    for (std::size_t row = 20; row < 40; ++row) series.values[row] = 1;
    const SeriesBounds bounds(series, {0}, {});
    CHECK((bounds.at(30, 0).least == 0) == is_bounded);
    CHECK((bounds.share_of(0, 20, 20, 0) == 1) == is_bounded);
  }
}

TEST_CASE("an answer agrees in all its parts: forecast within bounds and interval, which has a width") {
  Series series = make_series({"y"}, {});
  for (int row = 0; row < 60; ++row) series.values.push_back(row % 2 ? 5 : 1), series.times.at.push_back(row);
  const SeriesWindows windows = windows_over(series);
  for (const Values& quantiles :
       {Values{}, Values{97, 101.7, 103}, Values{101, 102, 99}, Values{-9, -8, -7}}) {
    const bool is_point = quantiles.empty();
    ConformalInterval interval(windows, {.has_quantiles = !is_point, .bounds = {.asked = {0, 100}}});
    for (int k = 0; k < 8; ++k)
      interval.learn(10 + k, Values{series.at(10 + k, 0) - 4},
                     Values{series.at(10 + k, 0) - (is_point ? 4 : 2)}, false);
    const Values all = is_point ? Values{101.7, 101.7, 101.7} : quantiles;
    const Answer found = answer_of(interval, 20, all);
    CHECK(found.value == std::clamp(all[1], 0.0, 100.0));
    CHECK((0 <= found.low && found.low <= found.value && found.value <= found.high && found.high <= 100));
    CHECK(found.low < found.high);
  }
  // The error of a forecast below 0 is that of 0, which is what was said: 1 or 5, and not 21.
  ConformalInterval interval(windows, {});
  for (int k = 0; k < 8; ++k) interval.learn(10 + k, Values{-20}, Values{-20}, false);
  const Answer fallen = answer_of(interval, 20, -3);
  CHECK((fallen.value == 0 && fallen.low == 0));
  CHECK(fallen.high == doctest::Approx(5));
  // Forecasts that never err.
  ConformalInterval exact(windows, {});
  for (int k = 0; k < 8; ++k) err(exact, series, 10 + k, 0);
  CHECK((std::isnan(answer_of(exact, 20, 3).low) && std::isnan(answer_of(exact, 20, 3).high)));
}

TEST_CASE(
    "a value that is too frequent to be left out lies within: 0 on most days, but not of another weekday") {
  Series series = make_series({"y"}, {});
  for (int row = 0; row < 300; ++row) {
    series.times.at.push_back(row);
    series.values.push_back(row < 100 ? (row % 5 ? 0 : 9) : (row % 7 < 5 ? 100 : 0));
  }
  const SeriesWindows windows = windows_over(series);
  ConformalInterval lumpy(windows, {}), weekly(windows, {.bounds = {.periods = {7}}});
  for (ConformalInterval* interval : {&lumpy, &weekly})
    for (int k = 0; k < 8; ++k) err(*interval, series, 10 + k, 0.5);
  const Answer any_day = answer_of(lumpy, 99, 2);
  CHECK((any_day.low == 0 && any_day.high > 2));
  // Rows 259 to 263 are the first five days of a week, 264 and 265 the others.
  CHECK(answer_of(weekly, 259, 100).low > 90);
  CHECK(answer_of(weekly, 264, 3).low == 0);
}

TEST_CASE("too few errors for a level of 99 %: quantiles are widened by the largest, as for 95 %") {
  const Series series = zigzag(60);
  const SeriesWindows windows = windows_over(series);
  double before = 0;
  for (const double level : {0.9, 0.95, 0.99}) {
    ConformalInterval interval(windows, {.level = level, .has_quantiles = true});
    for (int k = 0; k < 20; ++k) {
      const double truth = series.at(10 + k, 0);
      interval.learn(10 + k, Values{truth - 9}, Values{truth - 0.1 * (k + 1)}, false);
    }
    const Answer found = answer_of(interval, 30, Values{-1, 0, 1});
    CHECK(found.high >= before);
    before = found.high;
    CHECK(interval.needed() == (level == 0.9 ? 9 : level == 0.95 ? 19 : 99));
  }
  CHECK(before == doctest::Approx(1 + 2.0));
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
    ConformalInterval interval(windows, {.has_quantiles = true});
    const Answer before = answer_of(interval, 9, Values{-1, 0, 2});
    CHECK((before.low == -1 && before.high == 2));
    for (int64_t origin = 10; origin < 18; ++origin)
      interval.learn(origin, Values{series.at(origin, 0) - 3}, Values{series.at(origin, 0) - by}, false);
    const Answer after = answer_of(interval, 18, Values{-1, 0, 2});
    CHECK((after.low == -1 - by && after.high == 2 + by));
  }
}

TEST_CASE("an interval keeps to its bounds, and what was filled in tells it nothing") {
  Series series = zigzag(60);
  series.filled.assign(60, 0);
  const SeriesWindows windows = windows_over(series);
  ConformalInterval interval(windows, {.bounds = {.asked = {-0.5, 4}}});
  for (int k = 0; k < 8; ++k) err(interval, series, 10 + k, -2);
  series.filled[18] = 1;
  err(interval, series, 18, -100);
  const Answer near_least = answer_of(interval, 24, 1), near_most = answer_of(interval, 24, 3);
  CHECK((near_least.low == -0.5 && near_least.high == 3 && near_most.high == 4));
  CHECK(interval.known().others == 8);
  CHECK(lacks(input_error_of([&] { ConformalInterval(windows, {.level = 1}); }), {"a level of 1"}) == "");
}

// The noise's spread doubles half way through 4000 values. Bounds: 80 % give or take three standard deviations of
// 4000 draws, and 1 % for the rows after the change.
TEST_CASE("80 % of the values lie within, also after the noise has changed") {
  RandomStream random(3, "conformal");
  Values values;
  for (int row = 0; row < 4100; ++row)
    values.push_back((row < 2000 ? 1 : 2) * (random.uniform() + random.uniform() - 1));
  const Series series = make_series({"y"}, values);
  const SeriesWindows windows(series, {.channels = {{0, 1}}}, {{40, series.rows(), 0}}, "test",
                              {.window = 40});
  ConformalInterval interval(windows, {});
  int within = 0, counted = 0;
  for (int64_t origin = 40; origin < series.rows(); ++origin) {
    Values values = {0}, low = {0}, high = {0};
    interval.widen(origin, values, low, high);
    if (origin >= 100) ++counted, within += std::abs(series.at(origin, 0)) <= high[0];
    interval.learn(origin, Values{0}, Values{0}, false);
  }
  CHECK(counted == 4000);
  CHECK(std::abs(within / 4000.0 - 0.8) < 3 * std::sqrt(0.16 / 4000) + 0.01);
}

TEST_CASE("each of two columns has its own bound, its own season and its own zeros") {
  Series series = make_series({"a", "b"}, {});  // 1 and 2 in turn; 0 in each third row
  for (int row = 0; row < 90; ++row) {
    series.times.at.push_back(row);
    for (const int value : {1 + row % 2, row % 3 ? 5 : 0}) series.values.push_back(value);
  }
  const SeriesBounds bounds(series, {0, 1}, {.periods = {2, 3}});
  for (const int64_t row : {60, 61, 62}) {
    CHECK(bounds.share_of(1, row, 60, 0) == (row % 2 ? 0 : 1));
    CHECK(bounds.share_of(0, row, 60, 0) == 0);
    CHECK(bounds.share_of(0, row, 60, 1) == (row % 3 ? 0 : 1));
  }
  CHECK(bounds.text(60) == "not below 0");
  series.values[1] = -1;
  const SeriesBounds differ(series, {0, 1}, {});
  CHECK(differ.text(60) == "on the side of 0 where all values of its series lie");
  Values values = {-1, -1, 3, -2};
  differ.clamp(60, values);
  CHECK(values == Values{0, -1, 3, -2});
  CHECK(SeriesBounds(series, {0, 1}, {.asked = {-1, 8}}).text(60) == "from -1 to 8 at most");
}

TEST_CASE("what was filled in is not frequent, and a bound that is lies within an interval") {
  Series series = make_series({"y"}, Values(60, 100));
  series.filled.assign(60, 0);
  for (size_t row = 50; row < 60; ++row) series.values[row] = 0, series.filled[row] = 1;
  series.values[0] = 0;
  const SeriesBounds bounds(series, {0}, {.asked = {0, 100}});
  CHECK(bounds.share_of(0, 60, 60, 0) == 0);
  const auto ends = bounds.around({60, 60, 0, bounds.at(60, 0)}, 90, {80, 95}, 0.2);
  CHECK((ends.low == 80 && ends.high == 100));
  // 0 is frequent here, and out of bounds.
  const Series zeros = make_series({"y"}, Values(60, 0));
  const SeriesBounds above(zeros, {0}, {.asked = {0.5, 100}});
  const auto clamped = above.around({60, 60, 0, above.at(60, 0)}, 0.5, {-1, 1}, 0.2);
  CHECK((clamped.low == 0.5 && clamped.high == 1));
}

TEST_CASE("of several series each width has its own rows and scale, and they keep 2,000 errors together") {
  Series series = make_series({"y"}, Values(40, 5));
  for (size_t row = 0; row < 20; ++row) series.values[row] = row % 2 ? 5000 : 0;
  series.id_name = "id", series.members = {{"a", 0, 20}, {"b", 20, 40}};
  const SeriesWindows windows(series, {.channels = {{0, 1}, {0, 8}}, .members = 2},
                              {{4, 20, 0}, {24, 40, 20}}, "test", {.window = 4});
  ConformalInterval interval(windows, {.bounds = {.asked = {-1e9, 1e9}}});
  for (int k = 0; k < 1300; ++k) interval.know(Values{k < 700 ? 5.0 : 1.0}, false);
  const double unit = 8 * std::cbrt(0.1);  // 'b' does not move
  CHECK(reach(interval, 22) == doctest::Approx(5 * unit));
  Values values = {0}, low = {0}, high = {0};
  interval.widen(22, values, low, high, Values{0.5});
  CHECK(high[0] == doctest::Approx(5.5 * unit));
  for (int k = 0; k < 1000; ++k) interval.know(Values{1}, false);
  CHECK(interval.known().others == 2000);
}
