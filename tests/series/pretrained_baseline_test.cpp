// The forecaster that ships with the program, as a baseline: its quantiles, of the rows before the origin alone.
#include <cmath>

#include <fmt/format.h>

#include "examples/timeseries/baselines/baselines.h"
#include "examples/timeseries/baselines/combination.h"
#include "examples/timeseries/files/series_file.h"
#include "examples/timeseries/pretrained/pretrained.h"
#include "framework/random.h"
#include "tests/series/fitted.h"
#include "tests/support.h"

using namespace unroll;
using timeseries::PretrainedForecaster;

namespace {

using Values = std::vector<double>;

Series wave(int rows) {
  Values y;
  for (int t = 0; t < rows; ++t) y.push_back(20 + t % 4 + 0.1 * t);
  return make_series({"y"}, y);
}

}  // namespace

TEST_CASE("median and interval are its quantiles, and a filled-in row is missing for it") {
  Series series = wave(40);
  series.filled.assign(40, 0);
  series.filled[11] = 1, series.values[11] = 900;
  const auto baseline = fitted(pretrained, series, {{0, 30, 0}}, {.period = 4});
  REQUIRE(baseline);
  std::vector<double> read;
  for (int64_t row = 0; row < 30; ++row)
    read.push_back(row == 11 ? std::nan("") : series.at(row, 0));
  const auto& forecaster = PretrainedForecaster::bundled();
  const auto quantiles = forecaster.forecast(read, 4, 5);
  const auto place = [&](double level) {
    return std::ranges::find(forecaster.levels(), level) - forecaster.levels().begin();
  };
  Values middle(5), low(5), high(5), later(5);
  const std::vector<int64_t> origins = {30, 35};
  baseline->prepare(series, origins, 0, 5);
  baseline->forecast(series, 30, 0, middle), baseline->interval(series, 30, 0, low, high);
  for (size_t h = 0; h < 5; ++h) {
    CHECK(middle[h] == quantiles[h][static_cast<size_t>(place(0.5))]);
    CHECK(low[h] == quantiles[h][static_cast<size_t>(place(0.1))]);
    CHECK(high[h] == quantiles[h][static_cast<size_t>(place(0.9))]);
  }
  // Together or alone: the same bits. A longer forecast is made anew.
  baseline->forecast(series, 35, 0, later);
  Values alone(5), longer(9);
  fitted(pretrained, series, {{0, 30, 0}}, {.period = 4})->forecast(series, 35, 0, alone);
  CHECK(later == alone);
  baseline->forecast(series, 35, 0, longer);
  CHECK(std::isfinite(longer[8]));
  // Later rows do not matter.
  Series other = series;
  for (size_t row = 30; row < 40; ++row) other.values[row] = -5;
  fitted(pretrained, other, {{0, 30, 0}}, {.period = 4})->forecast(other, 30, 0, alone);
  CHECK(alone == middle);
}

TEST_CASE("another series, and another one in the same file, are forecast by their own rows") {
  const Series series = wave(40);
  Series other = series;
  for (double& value : other.values) value = 100 - value * value / 10;
  const auto baseline = fitted(pretrained, series, {{0, 30, 0}}, {.period = 4});
  const auto found = [&](const Series& of, int64_t origin) {
    Values forecast(5);
    baseline->forecast(of, origin, 0, forecast);
    return forecast;
  };
  const Values first = found(series, 30), second = found(other, 30);
  CHECK(found(series, 30) == first);
  Values alone(5);
  fitted(pretrained, other, {{0, 30, 0}}, {.period = 4})->forecast(other, 30, 0, alone);
  CHECK(second == alone);
  // Rows 0 to 39 are those of a, rows 40 to 49 of b.
  std::string csv = "id,t,y\n";
  for (int t = 0; t < 40; ++t) csv += fmt::format("a,{},{}\n", t, series.values[static_cast<size_t>(t)]);
  for (int t = 0; t < 10; ++t) csv += fmt::format("b,{},{}\n", t, other.values[static_cast<size_t>(t)]);
  const Series both = parse_series(csv, "x.csv", {.time = "t", .id = "id"});
  const Series b = make_series({"y"}, Values(other.values.begin(), other.values.begin() + 10));
  CHECK(found(both, 50) == found(b, 10));
}

TEST_CASE("a level far above the spread, and a small unit, cost no digits") {
  RandomStream random(2, "level");
  Values noise;
  for (int t = 0; t < 60; ++t) noise.push_back(random.normal() + 10 * std::sin(t * 2 * 3.14159265 / 12));
  const auto quantiles = [&](double level, double unit) {
    Values y;
    for (const double v : noise) y.push_back(level + unit * v);
    auto found = PretrainedForecaster::bundled().forecast(y, 12, 12);
    for (Values& row : found)
      for (double& v : row) v = (v - level) / unit;
    return found;
  };
  // 0 is as far away for both of the first: more than 10,000 scales.
  const auto plain = quantiles(1e5, 1), high = quantiles(1e9, 1), small = quantiles(0, 1e-200),
             of_zero = quantiles(0, 1);
  for (size_t h = 0; h < 12; ++h)
    for (size_t k = 0; k < small[h].size(); ++k) {
      CHECK(high[h][k] == doctest::Approx(plain[h][k]).epsilon(1e-3));
      CHECK(small[h][k] == doctest::Approx(of_zero[h][k]).epsilon(1e-3));
    }
}

TEST_CASE("three rows are enough, and two observed ones are not") {
  Series series = wave(3);
  CHECK(fitted(pretrained, series, {{0, 3, 0}}, {.period = 1}));
  series.filled = {0, 1, 0};
  CHECK_FALSE(fitted(pretrained, series, {{0, 3, 0}}, {.period = 1}));
  CHECK_FALSE(fitted(pretrained, series, {}, {.period = 1}));
}

TEST_CASE("of two columns each is forecast by its own values, prepared together or not") {
  const Series a = wave(40);
  Values both;
  for (const double value : a.values) both.push_back(value), both.push_back(100 - value * value / 10);
  const Series series = make_series({"y", "z"}, both);
  const BaselineKeys keys{.period = 4};
  const std::vector<int> targets = {0, 1};
  const std::vector<int64_t> origins = {30, 33};
  for (const bool prepares : {true, false}) {
    const auto baseline = pretrained({keys, series, 40, {{0, 30, 0}}, targets});
    for (const int channel : targets) {
      if (prepares) baseline->prepare(series, origins, channel, 3);
      Series alone = make_series({"y"}, {});
      for (int64_t row = 0; row < 40; ++row)
        alone.values.push_back(series.at(row, channel)), alone.times.at.push_back(row);
      Values found(3), expected(3);
      baseline->forecast(series, 33, channel, found);
      fitted(pretrained, alone, {{0, 30, 0}}, {.period = 4})->forecast(alone, 33, 0, expected);
      CHECK(found == expected);
    }
  }
}

TEST_CASE("the combination of the table reads both seasons, and needs the rows that its members need") {
  Series series = wave(60);
  for (int t = 0; t < 60; ++t)
    series.values[static_cast<size_t>(t)] += t * t % 7 * 0.5 + (t % 12 < 8 ? 0 : 9);
  const Part train = {{0, 50, 0}};
  const auto baseline = fitted(combination, series, train, {.horizon = 3, .period = 4, .second_period = 12});
  const Combination mean(series, train, 0, {.period = 4, .second_period = 12, .horizon = 3});
  Values found(3);
  baseline->forecast(series, 55, 0, found);
  CHECK(found == mean.forecast(series, 55, 3).values);
  int64_t history = 1;
  for (const auto& member : mean.members())
    if (member.weight > 0) history = std::max(history, member.baseline.history);
  CHECK(history >= 12);
  CHECK(baseline->history == history);
}

TEST_CASE("the network and Theta read the season, of two, by which they err less on the folds") {
  for (const bool has_week : {true, false}) {
    RandomStream random(3, "noise");
    Values y(360);
    for (double& value : y) value = 100 + 2 * (random.uniform() - 0.5);
    for (size_t t = 0; t < y.size(); ++t)
      y[t] +=
          20 * std::sin(2 * 3.14159265 * static_cast<double>(t) / 6) * (has_week && t % 42 >= 30 ? -1 : 1);
    const Series series = make_series({"y"}, y);
    const Combination mean(
        series, {{0, series.rows(), 0}}, 0,
        {.period = 6, .second_period = 42, .horizon = 6, .members = {"pretrained", "theta"}});
    REQUIRE(mean.members().size() == 2);
    CHECK(mean.members()[0].name == (has_week ? "pretrained (42)" : "pretrained"));
    CHECK(mean.members()[0].error < (has_week ? 6 : 3));
    CHECK(mean.members()[1].name == (has_week ? "Theta (42)" : "Theta"));
  }
}
