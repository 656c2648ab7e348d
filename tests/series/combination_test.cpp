// The mean of a few forecasters: its weights, what it leaves out, and its interval, by hand.
#include "examples/timeseries/baselines/combination.h"

#include <cmath>

#include "framework/random.h"
#include "tests/series/fitted.h"
#include "tests/support.h"

using namespace unroll;

namespace {

using Values = std::vector<double>;
constexpr double z = 1.2815515655446004;  // of a normal distribution 80 % lie within
const double unknown = std::nan("");

Part whole(const Series& series) { return {{0, series.rows(), 0}}; }

Values noise(int rows, double level, double by = 1) {
  RandomStream random(3, "noise");
  Values y;
  for (int t = 0; t < rows; ++t) y.push_back(level + by * (random.uniform() - 0.5));
  return y;
}

}  // namespace

TEST_CASE("weights go from the first ones to those of the mean squares as folds become many") {
  const Values alike = {1, 1}, squares = {1, 4};
  CHECK(combination_weights(alike, squares, 0)[0] == doctest::Approx(0.5));
  CHECK(combination_weights(alike, squares, 3)[0] == doctest::Approx(0.8));  // one over the mean square
  CHECK(combination_weights(alike, squares, 1e9)[0] == doctest::Approx(16.0 / 17));
  CHECK(combination_weights(Values{0.25, 1}, squares, 0) == Values{0.2, 0.8});
  CHECK(combination_weights(Values{0.25, 1}, Values{9, 9}, 3)[0] ==
        doctest::Approx(1.0 / 3));  // the root of a quarter
  // A member without an error counts as the best.
  CHECK(combination_weights(Values{1, 1, 1}, Values{1, 4, unknown}, 3)[2] == doctest::Approx(4.0 / 9));
  CHECK(combination_weights(Values{1, 1, 1, 1}, Values{1, 0, unknown, 0}, 2) == Values{0, 0.5, 0, 0.5});
  CHECK(combination_weights(Values{0.25}, Values{unknown}, 0) == Values{1});
}

TEST_CASE(
    "the lowest and the highest fifth of the weight do not count in the mean, and values that are alike are exact") {
  const auto mean = [](std::vector<WeightedValue> all) { return trimmed_mean(all); };
  CHECK(mean({{-3, 0.1}}) == -3);
  CHECK(mean({{0.1, 0.3}, {0.1, 0.6}}) == 0.1);
  CHECK(mean({{1, 1}, {0, 1}}) == doctest::Approx(0.5));
  CHECK(mean({{100, 1}, {1, 1}, {2, 1}, {3, 1}, {-9, 1}}) == doctest::Approx(2));
  CHECK(mean({{100, 1}, {1, 2}, {2, 1}}) == doctest::Approx((1 * 1.2 + 2 * 1 + 100 * 0.2) / 2.4));
  CHECK(mean({{1e12, 4}, {1e12 + 1, 6}}) == 1e12 + 2.0 / 3);
}

TEST_CASE("rows that repeat exactly are forecast exactly, by the member without error") {
  Values y;
  for (int t = 0; t < 84; ++t) y.push_back(10 + t % 7);
  const Series series = make_series({"y"}, y);
  const Combination mean(series, whole(series), 0, {.period = 7, .horizon = 3});
  const auto found = mean.forecast(series, 84, 9);
  for (int h = 0; h < 9; ++h) CHECK(found.values[static_cast<size_t>(h)] == 10 + h % 7);
  CHECK(mean.folds().naive_error == 0);
}

TEST_CASE("the seasonal naive forecast's error is of the same windows as a member's, or none is told") {
  const Series series = make_series({"y"}, {3, 5, 2, 8, 1, 9, 4, 7, 3.5, 5.2});
  const auto naive = [&](int64_t period) {
    return Combination(series, whole(series), 0, {.period = period, .horizon = 2, .members = {"last", "theta"}})
        .folds()
        .naive_error;
  };
  CHECK(naive(2) > 0);
  CHECK(std::isnan(naive(8)));  // the first windows have no row a period before
  CHECK(std::isnan(naive(10)));
}

TEST_CASE("three rows have a forecast and an interval: that of a random walk") {
  const Series series = make_series({"y"}, {1, 2, 4});
  const Combination mean(series, whole(series), 0,
                         {.horizon = 6, .members = {"last", "ets", "theta", "ces", "ridge"}});
  REQUIRE(mean.members().size() == 5);
  for (size_t m = 1; m < 5; ++m)
    CHECK(mean.members()[m].left_out == "too few rows");  // all but the last value
  CHECK(mean.folds().windows == 0);
  const auto found = mean.forecast(series, 3, 4);
  for (size_t h = 0; h < 4; ++h) {
    CHECK(found.values[h] == 4);
    // The steps are 1 and 2, of mean square 2.5. Few rows make it wider by one over their number.
    CHECK(found.high[h] - 4 ==
          doctest::Approx((1 + 1.0 / 3) * z * std::sqrt(2.5 * static_cast<double>(h + 1))));
    CHECK(4 - found.low[h] == doctest::Approx(found.high[h] - 4));
  }
}

TEST_CASE(
    "the interval goes a third of the way to the errors on 20 rows of folds, on the scale of logarithms") {
  Values y;
  for (int t = 0; t < 100; ++t) y.push_back(t % 2);
  const Series series = make_series({"y"}, y);
  // Each step is 1, so a random walk's interval is z, and each of the last 20 rows is missed by 1. After n rows it is wider
  // by 1 / n. The 17th of these 20 errors, in units of it, is the one after 96 rows.
  const Combination mean(series, whole(series), 0, {.horizon = 1, .members = {"last"}});
  CHECK(mean.folds().windows == 20);
  CHECK(mean.folds().first == 80);
  CHECK(mean.folds().interval_errors == 20);
  const double factor = std::cbrt(1 / (z * (1 + 1.0 / 96)));
  CHECK(mean.folds().interval_factor == doctest::Approx(factor));
  const auto found = mean.forecast(series, 100, 2);
  CHECK(found.values == Values{1, 1});
  CHECK(found.high[0] - 1 == doctest::Approx(factor * z * 1.01));
  CHECK(found.high[1] - 1 == doctest::Approx(factor * z * 1.01 * std::sqrt(2)));
  // A walk by the season would not move, though the last value errs.
  const Combination by_two(series, whole(series), 0, {.period = 2, .horizon = 1, .members = {"last"}});
  CHECK(by_two.forecast(series, 100, 2).high == found.high);
  // Two errors of the folds are too few for 80 % of them.
  const Series few = make_series({"y"}, Values(y.begin(), y.begin() + 10));
  CHECK(Combination(few, whole(few), 0, {.horizon = 1, .members = {"last"}}).folds().interval_factor == 1);
}

TEST_CASE("each step's interval goes towards the errors on the folds at the steps nearby") {
  // A walk's interval grows by the root of the step, and errors of the last value in noise do not grow.
  const Series series = make_series({"y"}, noise(100, 0));
  const Combination mean(series, whole(series), 0, {.horizon = 5, .members = {"last"}});
  REQUIRE(mean.folds().windows == 16);
  const auto reach = [&](int64_t origin, int h) {  // by the square steps before
    double squares = 0;
    for (int64_t row = 1; row < origin; ++row)
      squares += std::pow(series.at(row, 0) - series.at(row - 1, 0), 2) / static_cast<double>(origin - 1);
    return z * std::sqrt(squares * h) * (1 + 1 / static_cast<double>(origin));
  };
  const auto quantile = [](Values all) {
    std::ranges::sort(all);
    return all[static_cast<size_t>(std::ceil(0.8 * static_cast<double>(all.size() + 1))) - 1];
  };
  std::vector<Values> ratios(6);
  Values all;
  for (int64_t origin = 80; origin <= 95; ++origin)
    for (int h = 1; h <= 5; ++h) {
      ratios[static_cast<size_t>(h)].push_back(
          std::abs(series.at(origin + h - 1, 0) - series.at(origin - 1, 0)) / reach(origin, h));
      all.push_back(ratios[static_cast<size_t>(h)].back());
    }
  const double factor = std::pow(quantile(all), 20.0 / 60);
  CHECK(mean.folds().interval_factor == doctest::Approx(factor));
  const auto found = mean.forecast(series, 100, 6);
  // From two thirds of a step to one and a half of it; and of 20 rows so many windows do not overlap.
  const std::vector<std::pair<int, int>> nearby = {{1, 1}, {2, 3}, {3, 4}, {3, 5}, {4, 5}};
  for (int h = 1; h <= 6; ++h) {
    const int of = std::min(h, 5);
    Values near;
    for (int k = nearby[static_cast<size_t>(of - 1)].first; k <= nearby[static_cast<size_t>(of - 1)].second;
         ++k)
      near.insert(near.end(), ratios[static_cast<size_t>(k)].begin(), ratios[static_cast<size_t>(k)].end());
    const double count = std::min(static_cast<double>(near.size()), 20.0 / of);
    const double width = factor * std::pow(quantile(near) / quantile(all), count / (count + 20));
    CHECK(found.high[static_cast<size_t>(h - 1)] - found.values[0] == doctest::Approx(width * reach(100, h)));
  }
}

TEST_CASE("over many folds errors that do not follow the width that members expect set it") {
  // Steps of 10 to row 50 and of 1 after it: a walk's width falls with the rows, and each error is 1.
  Values y;
  for (int t = 0; t < 500; ++t) y.push_back(t % 2 * (t < 50 ? 10 : 1));
  const Series series = make_series({"y"}, y);
  const Combination mean(series, whole(series), 0, {.horizon = 1, .members = {"last"}});
  REQUIRE(mean.folds().windows == 100);
  CHECK(mean.folds().interval_share == 0);
  double mean_log = 0;
  for (int64_t origin = 400; origin < 500; ++origin) {
    const auto rows = static_cast<double>(origin);
    mean_log += std::log(z * std::sqrt((50 * 100 + rows - 51) / (rows - 1)) * (1 + 1 / rows)) / 100;
  }
  // All errors are one by that unit, which is to the power of 100 / 140.
  const auto found = mean.forecast(series, 500, 1);
  CHECK(found.high[0] - found.values[0] == doctest::Approx(std::exp(mean_log * (1 - 100.0 / 140))));
}

TEST_CASE(
    "a step without errors on the folds has its neighbours' width, and steps beyond grow as members expect") {
  // Windows begin at every second row of the folds, and steps 1, 3 and 5 of each have no value.
  Series series = make_series({"y"}, noise(1000, 0, 1000));
  series.filled.resize(1000);
  for (size_t row = 800; row < 1000; row += 2) series.filled[row] = 1;
  const Combination mean(series, whole(series), 0, {.horizon = 5, .members = {"last"}});
  REQUIRE(mean.folds().windows == 98);
  REQUIRE(mean.folds().interval_share == 0);
  const auto found = mean.forecast(series, 1000, 20);
  const auto width = [&](size_t h) { return found.high[h] - found.values[h]; };
  for (const size_t h : {0, 2}) {
    CHECK(width(h) > 0.7 * width(1));
    CHECK(width(h) < 1.4 * width(1));
  }
  for (size_t h = 4; h < 20; ++h)  // a random walk's
    CHECK(width(h) == doctest::Approx(width(3) * std::sqrt(static_cast<double>(h + 1) / 4)));
}

TEST_CASE("an interval without errors is not narrower than a random walk's over the number of rows") {
  Values y;
  for (int t = 0; t < 8; ++t) y.push_back(100 + 10 * t);
  const Series series = make_series({"y"}, y);
  const Combination mean(series, whole(series), 0, {.horizon = 1, .members = {"ets"}});
  CHECK(mean.folds().windows == 1);
  CHECK(mean.folds().interval_errors == 0);  // one says nothing of 80 %
  const auto found = mean.forecast(series, 8, 2);
  CHECK(found.values[0] == doctest::Approx(180));
  CHECK(found.high[0] - found.values[0] == doctest::Approx(z * 10 / 8));
  CHECK(found.values[1] - found.low[1] == doctest::Approx(z * 10 / 8 * std::sqrt(2)));
}

TEST_CASE("folds cover the longest season, or narrow no interval") {
  // Weeks of seven days of four rows. The last two days are higher, and the rows end before them.
  Values y;
  for (int t = 0; t < 76; ++t) y.push_back(t % 4 + (t / 4 % 7 < 5 ? 0 : 10));
  const Series weeks = make_series({"y"}, y);
  const Combination of_weeks(
      weeks, whole(weeks), 0,
      {.period = 4, .second_period = 28, .horizon = 4, .members = {"seasonal", "second-seasonal"}});
  CHECK(of_weeks.folds().first == 48);
  CHECK(of_weeks.members()[1].weight == 1);
  CHECK(of_weeks.forecast(weeks, 76, 4).values == Values{10, 11, 12, 13});
  // Half of the rows may be folds. A random walk's interval reaches further than its errors here.
  y.clear();
  for (int t = 0; t < 100; ++t) y.push_back(t % 2);
  const Series series = make_series({"y"}, y);
  const auto factor = [&](int64_t season) {
    return Combination(series, whole(series), 0, {.second_period = season, .horizon = 1, .members = {"last"}})
        .folds()
        .interval_factor;
  };
  CHECK(factor(50) < 0.9);
  CHECK(factor(51) == 1);
}

TEST_CASE("of two seasons a member that reads one has the one by which it errs less on the folds") {
  // Ten weeks of seven days of four rows, and five days of the next: Saturday is 10 higher, and Sunday.
  Values y = noise(300, 100, 0.1);
  for (size_t t = 0; t < y.size(); ++t) y[t] += static_cast<double>(t % 4) + (t / 4 % 7 < 5 ? 0 : 10);
  const Series weeks = make_series({"y"}, y);
  for (const std::string word : {"theta", "ces"}) {
    const Combination mean(weeks, whole(weeks), 0,
                           {.period = 4, .second_period = 28, .horizon = 4, .members = {word}});
    REQUIRE(mean.members().size() == 1);
    CHECK(mean.members()[0].name == (word == "ces" ? "CES (28)" : "Theta (28)"));
    const auto found = mean.forecast(weeks, 300, 4);
    for (size_t h = 0; h < 4; ++h) CHECK(std::abs(found.values[h] - (110 + static_cast<double>(h))) < 1);
    // Without a week in the values the day's is as good or better.
    const Series days = make_series({"y"}, noise(300, 100, 1));
    const Combination of_days(days, whole(days), 0,
                              {.period = 4, .second_period = 28, .horizon = 4, .members = {word}});
    CHECK(of_days.members()[0].name == (word == "ces" ? "CES" : "Theta"));
    // Rows too few for the second season have one member, not another that is left out.
    const Series few = make_series({"y"}, noise(50, 100, 1));
    CHECK(Combination(few, whole(few), 0, {.period = 4, .second_period = 28, .members = {word}})
              .members()
              .size() == 1);
  }
}

TEST_CASE("a member that goes far outside of what the series was is left out") {
  const Series far = make_series({"y"}, noise(60, 1000)), near = make_series({"y"}, noise(60, 0));
  const Combination mean(far, whole(far), 0, {.horizon = 1, .members = {"last", "theta"}});
  CHECK(mean.forecast(far, 60, 2).exploded.empty());
  // Theta begins at the level of the rows that it was fitted to, and its smoothing is slow.
  const auto found = mean.forecast(near, 5, 2);
  CHECK(found.exploded == std::vector<std::string>{"Theta"});
  CHECK(found.values == Values(2, near.at(4, 0)));
}

TEST_CASE("if a member is left out at a forecast, the others share its weight") {
  const Series far = make_series({"y"}, noise(60, 1000)), near = make_series({"y"}, noise(60, 0));
  const Combination mean(far, whole(far), 0,
                         {.period = 4, .horizon = 1, .members = {"last", "seasonal", "theta"}});
  const auto found = mean.forecast(near, 40, 1);
  REQUIRE(found.exploded == std::vector<std::string>{"Theta"});
  const double last = mean.members()[0].weight, seasonal = mean.members()[1].weight;
  std::vector<WeightedValue> others = {{near.at(39, 0), last}, {near.at(36, 0), seasonal}};
  CHECK(found.values[0] == doctest::Approx(trimmed_mean(others)));
}

// 12 of 60 rows are forecast by folds.
TEST_CASE(
    "folds are forecast by members fitted to the rows before, and their interval errs on its own side") {
  Values y = noise(60, 0, 3);
  for (double& value : y) value = std::exp(value);  // values lie further above the middle than below
  const Series series = make_series({"y"}, y);
  const Combination ets_alone(series, whole(series), 0, {.horizon = 1, .members = {"ets"}}),
      network(series, whole(series), 0, {.horizon = 1, .members = {"pretrained"}});
  const auto early = fitted(ets, series, {{0, 48, 0}}, {.period = 1}),
             late = fitted(ets, series, whole(series), {.period = 1}),
             quantiles = fitted(pretrained, series, {{0, 48, 0}}, {.period = 1});
  double of_early = 0, of_late = 0;
  Values ratios, of_high;
  for (int64_t row = 48; row < 60; ++row) {
    Values found(1), low(1), high(1);
    const double value = series.at(row, 0);
    early->forecast(series, row, 0, found), of_early += std::pow(found[0] - value, 2) / 12;
    late->forecast(series, row, 0, found), of_late += std::pow(found[0] - value, 2) / 12;
    quantiles->forecast(series, row, 0, found), quantiles->interval(series, row, 0, low, high);
    const double few = 1 + 1 / static_cast<double>(row), off = std::abs(value - found[0]);
    ratios.push_back(off / few / (value > found[0] ? high[0] - found[0] : found[0] - low[0]));
    of_high.push_back(off / few / (high[0] - found[0]));
  }
  CHECK(ets_alone.members()[0].error == doctest::Approx(std::sqrt(of_early)));
  CHECK(std::sqrt(of_late) != doctest::Approx(std::sqrt(of_early)));
  // The eleventh of twelve, to the power of 12 / (12 + 40).
  const auto factor = [](Values& all) {
    std::ranges::sort(all);
    return std::pow(all[10], 12.0 / 52);
  };
  CHECK(network.folds().interval_factor == doctest::Approx(factor(ratios)));
  CHECK(factor(of_high) != doctest::Approx(factor(ratios)));
}

TEST_CASE("members know nothing of rows after those that they are fitted to") {
  const Series series = make_series({"y"}, noise(120, 50, 20));
  Series later = series;
  for (size_t row = 90; row < 120; ++row) later.values[row] *= 5;
  const CombinationOptions options{.period = 12, .horizon = 4};
  const Combination a(series, {{0, 90, 0}}, 0, options), b(later, {{0, 90, 0}}, 0, options);
  const auto of_a = a.forecast(series, 90, 4), of_b = b.forecast(later, 90, 4);
  CHECK(of_a.values == of_b.values), CHECK(of_a.low == of_b.low);
  for (size_t m = 0; m < a.members().size(); ++m) CHECK(a.members()[m].weight == b.members()[m].weight);
}

TEST_CASE("many series leave out the members that are slow to fit, unless they are asked for") {
  const Series series = make_series({"y"}, noise(60, 5));
  const auto names = [&](const CombinationOptions& options) {
    std::vector<std::string> names;
    const Combination mean(series, whole(series), 0, options);
    for (const auto& member : mean.members()) names.push_back(member.name);
    return names;
  };
  CHECK(names({.fast = true}) == std::vector<std::string>{"last value", "Theta", "CES"});
  CHECK(names({.members = {"ets"}, .fast = true}) == std::vector<std::string>{"ETS"});
  const Combination of_month(series, whole(series), 0, {.period = 25});
  for (const auto& member : of_month.members())
    CHECK(member.left_out ==
          (member.name == "ets" ? "a season of more than 24 rows has too many states" : ""));
}

TEST_CASE("the baseline of the table is the mean of each channel") {
  Values both;
  const Values a = noise(60, 5), b = noise(60, 900, 80);
  for (size_t t = 0; t < 60; ++t) both.push_back(a[t]), both.push_back(b[t]);
  const Series series = make_series({"a", "b"}, both);
  BaselineKeys keys;
  keys.horizon = 3;
  const std::vector<int> targets = {0, 1};
  const Part train = {{0, 50, 0}};
  const auto baseline = combination({keys, series, 60, train, targets});
  REQUIRE(baseline);
  const CombinationOptions options{.horizon = 3};
  for (const int channel : targets) {
    Values found(3);
    baseline->forecast(series, 55, channel, found);
    CHECK(found == Combination(series, train, channel, options).forecast(series, 55, 3).values);
  }
}

TEST_CASE("rows without a value just before the origin are forecast, and not read") {
  Series series = make_series({"y"}, noise(60, 50, 20));
  series.filled.assign(60, 0);
  for (const size_t row : {55, 56, 57}) series.filled[row] = 1, series.values[row] = 1000;
  const Combination mean(series, {{0, 50, 0}}, 0, {.period = 4, .horizon = 3});
  const auto after = mean.forecast(series, 58, 2), from = mean.forecast(series, 55, 5);
  const auto end = [](const Values& all) { return Values(all.end() - 2, all.end()); };
  CHECK(after.values == end(from.values));
  CHECK(after.low == end(from.low)), CHECK(after.high == end(from.high));
  // A difference of which one value was filled in is no step of the random walk: those left are 1 and 1.
  Series few = make_series({"y"}, {1, 2, 9, 4, 5});
  few.filled = {0, 0, 1, 0, 0};
  const auto walk = Combination(few, whole(few), 0, {.members = {"last"}}).forecast(few, 5, 1);
  CHECK(walk.high[0] - 5 == doctest::Approx((1 + 1.0 / 5) * z));
}

TEST_CASE("members that are apart make the interval wider, at any level of the series") {
  for (const double level : {0.0, 1e9}) {
    const Series series = make_series({"y"}, noise(40, level, 4));
    const auto of = [&](const std::vector<std::string>& words) {
      return Combination(series, whole(series), 0, {.horizon = 30, .members = words});
    };
    const Combination both = of({"ets", "last"}), one = of({"ets"});
    CHECK(both.folds().windows == 1);
    // The last value has no interval of its own, and the folds are too short to change the width of either by much.
    const auto a = both.forecast(series, 40, 1), b = one.forecast(series, 40, 1);
    const double weight = both.members()[1].weight, apart = b.values[0] - series.at(39, 0);
    const double share = std::clamp((weight - 0.2) / 0.6, 0.0, 1.0);  // of what the mean keeps
    CHECK(a.values[0] - series.at(39, 0) == doctest::Approx(share * apart).epsilon(1e-4));
    const double own = (b.high[0] - b.values[0]) / one.folds().interval_factor / 1.025,
                 square = weight * (1 - share) * (1 - share) + (1 - weight) * share * share,
                 wide = std::sqrt(own * own + z * z * square * apart * apart);
    CHECK(a.high[0] - a.values[0] ==
          doctest::Approx(both.folds().interval_factor * 1.025 * wide).epsilon(1e-4));
  }
}
