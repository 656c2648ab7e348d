// The baselines that models are compared with: by hand, and on series whose best forecast is known. Public series:
// public_series_test.cpp.
#include "examples/timeseries/baselines/baselines.h"

#include <cmath>
#include <csignal>
#include <limits>

#include "data/text/ngram.h"
#include "examples/timeseries/baselines/fitting.h"
#include "framework/signals.h"
#include "tests/support.h"

using namespace unroll;

namespace {

using Values = std::vector<double>;

Values forecast_of(const ForecastBaseline& baseline, const Series& series, int64_t origin,
                   std::size_t horizon, int channel = 0) {
  Values result(horizon);
  baseline.forecast(series, origin, channel, result);
  return result;
}

Scaling unscaled(const Series& series) {
  std::vector<std::string> notes;
  return fit_scaling(series, whole_series(series), ScalingKind::none, notes);
}

// Uniform noise of variance 1, whose square has the variance 9/5 - 1.
struct Noise {
  RandomStream random;
  explicit Noise(uint64_t seed) : random(seed, "noise") {}
  double operator()() { return std::sqrt(12.0) * (random.uniform() - 0.5); }
};

}  // namespace

TEST_CASE("least squares finds the coefficients, and the nearest ones where none fit") {
  Noise noise(1);
  const Values truth = {2, -3, 0.5};
  Values x, y;
  for (int row = 0; row < 40; ++row) {
    double sum = 0;
    for (const double w : truth) sum += w * x.emplace_back(noise());
    y.push_back(sum);
  }
  Values a = x, b = y;
  const Values exact = least_squares(a, b, 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(exact[i] == doctest::Approx(truth[i]).epsilon(1e-12));

  for (double& value : y) value += noise();
  a = x, b = y;
  const Values w = least_squares(a, b, 3);
  for (std::size_t column = 0; column < 3; ++column) {  // what is left is at right angles to every column
    double product = 0;
    for (std::size_t row = 0; row < y.size(); ++row) {
      double left = y[row];
      for (std::size_t c = 0; c < 3; ++c) left -= x[3 * row + c] * w[c];
      product += left * x[3 * row + column];
    }
    CHECK(std::abs(product) < 1e-12);  // 40 products of at most 12, each rounded to 2^-53 of itself
  }
}

TEST_CASE("a column that says nothing new gets the coefficient 0") {
  Values x = {1, 2, 3, 1, 4, 5, 1, 6, 7, 1, 1, 2},
         y = {5, 9, 13, 3};  // third = first + second; y = 1 + 2 second
  const Values w = least_squares(x, y, 3);
  CHECK(w[0] == doctest::Approx(1));
  CHECK(w[1] == doctest::Approx(2));
  CHECK(w[2] == 0);
  // Three tenths of the first column, as far as a double can say it: rounding leaves 1e-16 of its length.
  Values scaled, target;
  for (const double value : {1.0, 3.0, 7.0, 11.0, 13.0}) {
    scaled.insert(scaled.end(), {value, 0.3 * value});
    target.push_back(2 * value + (value == 7 ? 0.5 : 0));
  }
  CHECK(least_squares(scaled, target, 2)[1] == 0);
  Values zero = {0, 1, 0, 2}, two = {3, 6};
  CHECK(least_squares(zero, two, 2) == Values{0, 3});
  Values wide = {2, 5, 7}, one = {4};  // fewer rows than columns
  CHECK(least_squares(wide, one, 3) == Values{2, 0, 0});
}

TEST_CASE("naive forecasts, by hand") {
  const Series series = make_series({"x"}, {1, 2, 4, 2, 4, 8, 5, 5});
  CHECK(forecast_of(last_value(), series, 6, 3) == Values{8, 8, 8});
  CHECK(forecast_of(seasonal_naive(3), series, 6, 5) == Values{2, 4, 8, 2, 4});
  CHECK(forecast_of(seasonal_growth(3, 4), series, 6, 4) == Values{4, 8, 16, 4});  // 14 after 7
  CHECK(forecast_of(seasonal_growth(3, 1), series, 6, 1) == Values{4});            // 8 after 4
  CHECK(forecast_of(training_mean(series, {{0, 3, 0}, {5, 6, 0}}), series, 6, 2) == Values{3.75, 3.75});
  const Series jump = make_series({"x"}, {1, 2, 4, 2, 4, 16});
  CHECK(forecast_of(seasonal_growth(3, 1), jump, 6, 3) == Values{8, 16, 64});  // 16 after 4
  CHECK(forecast_of(seasonal_growth(3, 9), jump, 6, 1)[0] == doctest::Approx(2 * 22.0 / 7));
  const Series silent = make_series({"x"}, {0, 0, 1, 2});
  CHECK(forecast_of(seasonal_growth(2, 2), silent, 4, 2) == Values{1, 2});
  CHECK_THROWS_AS(seasonal_naive(0), InputError);
  CHECK_THROWS_AS(seasonal_growth(-1, 1), InputError);
}

TEST_CASE("a year of days with weeks repeats after 52 weeks") {
  const auto lag = [](int64_t period, int64_t second) {
    return lag_of({.period = period, .second_period = second}, &BaselineKeys::second_period);
  };
  CHECK(lag(7, 365) == 364);
  CHECK(lag(168, 8760) == 8736);
  CHECK(lag(5, 261) == 260);
  CHECK(lag(24, 168) == 168);
  CHECK(lag(7, 30) == 30);  // 28 is another season
  CHECK(lag(1, 365) == 365);
  CHECK(lag_of({.period = 365}, &BaselineKeys::period) == 365);
  std::vector<double> days;
  for (int t = 0; t < 400; ++t) days.push_back(t % 7);
  const Series series = make_series({"y"}, days);
  const BaselineKeys keys{.period = 7, .second_period = 365};
  const Part train = {{0, 400, 0}};
  const std::vector<int> targets = {0};
  CHECK(forecast_of(*baseline_row("second-seasonal")->make({keys, series, 400, train, targets}), series, 400,
                    3) == Values{1, 2, 3});
}

TEST_CASE("a forecast that leaves the range so far by more than three times itself explodes") {
  const Series series = make_series({"x", "flat"}, {1, 7, 5, 7, 3, 7, 2, 7});
  const auto left = [&](Values values, int64_t origin, int channel = 0) {
    return RangeBefore(series, origin, channel).is_left_by(values);
  };
  // Rows 0 to 3 lie between 1 and 5: a step may be 3 (1 + 1/4) 4 = 15 outside, two steps 3 (1 + 2/4) 4 = 18.
  CHECK_FALSE(left({19.9}, 4)), CHECK(left({20.1}, 4));
  CHECK_FALSE(left({-13.9}, 4)), CHECK(left({-14.1}, 4));
  CHECK_FALSE(left({22.9, 22.9}, 4)), CHECK(left({1, 23.1}, 4));
  // A channel that has never changed has no range; nothing that is not finite is a forecast.
  CHECK_FALSE(left({1e9}, 4, 1)), CHECK(left({std::numeric_limits<double>::infinity()}, 4, 1)),
      CHECK(left({std::nan("")}, 4));
  // An earlier origin: 1 to 5 of two rows, so 3 (1 + 1/2) 4 = 18.
  CHECK_FALSE(left({22.9}, 2)), CHECK(left({23.1}, 2));
  // The rows behind the origin do not count.
  const Series grown = make_series({"x"}, {1, 5, 3, 100});
  CHECK_FALSE(RangeBefore(grown, 4, 0).is_left_by(Values{100}));
  CHECK(RangeBefore(grown, 2, 0).is_left_by(Values{23.1}));
}

TEST_CASE("no forecast looks at the rows it forecasts") {
  Noise noise(2);
  Values values;
  for (int i = 0; i < 120; ++i) values.push_back(5 + noise());
  const Series series = make_series({"x"}, values);
  const std::vector<int> targets = {0};
  const Part train = {{0, 80, 0}};
  for (const ForecastBaseline& baseline :
       {last_value(), seasonal_naive(7), seasonal_growth(7, 7), training_mean(series, train)}) {
    CAPTURE(baseline.name);
    Series other = series;
    for (std::size_t row = 100; row < 120; ++row) other.values[row] = 1e6;
    CHECK(forecast_of(baseline, other, 100, 10) == forecast_of(baseline, series, 100, 10));
    // And it says how far back it does look.
    for (int64_t row = 0; row < 100 - baseline.history; ++row)
      other.values[static_cast<std::size_t>(row)] = 1e6;
    CHECK(forecast_of(baseline, other, 100, 10) == forecast_of(baseline, series, 100, 10));
    SeriesWindows early(series, unscaled(series), {{0, 80, 0}}, "train", {.window = 1});
    CHECK(for_each_forecast(baseline, early, [](int64_t, const Values&) {}) == (baseline.history <= 1));
  }
}

TEST_CASE("every baseline of the table forecasts a constant, a season that returns, and no later row") {
  Noise noise(8);
  Values noisy, flat(120, 5.0), seasonal;
  for (int i = 0; i < 120; ++i) noisy.push_back(5 + noise()), seasonal.push_back(1 + i % 14 * (i % 7));
  BaselineKeys keys{.window = 6, .horizon = 7, .period = 7, .second_period = 14};
  keys.ridge = keys.ces = keys.pretrained = keys.combination = true;
  const std::vector<int> targets = {0};
  const Part train = {{0, 80, 0}};
  const auto made = [&](const ForecastBaselineRow& row, const Series& series) {
    return row.make({keys, series, 100, train, targets});
  };
  for (const ForecastBaselineRow& row : forecast_baselines) {
    CAPTURE(row.word);
    CHECK(baseline_row(row.word) == &row);
    CHECK(row.is_in_tables(keys));
    const Series series = make_series({"x"}, noisy), constant = make_series({"x"}, flat),
                 returns = make_series({"x"}, seasonal);
    Series other = series;
    for (std::size_t at = 100; at < 120; ++at) other.values[at] = 1e6;
    const auto baseline = made(row, series);
    REQUIRE(baseline);
    CHECK(baseline->history < 100);
    CHECK(forecast_of(*baseline, other, 100, 10) == forecast_of(*baseline, series, 100, 10));
    if (const auto of_constant = made(row, constant))
      for (const double value : forecast_of(*of_constant, constant, 100, 10))
        CHECK(value == doctest::Approx(5).epsilon(1e-6));
    else
      CHECK(std::string(row.left_out) != "");
    if (row.needs == Needs::second_season)
      CHECK(forecast_of(*made(row, returns), returns, 100, 10) ==
            Values(seasonal.begin() + 100, seasonal.begin() + 110));
    // Keys that lack what it needs say so.
    const BaselineKeys none;
    CHECK(row.missing(none).empty() == (row.needs == Needs::nothing));
  }
  CHECK(baseline_row("no such word") == nullptr);
  keys.ets = false;
  CHECK_FALSE(baseline_row("ets")->is_in_tables(keys));
}

TEST_CASE("pure noise is not forecast better than its variance, unless a channel knows the future") {
  constexpr int64_t rows = 6000, train_end = 4000;
  constexpr int window = 8;
  Noise noise(4);
  Values once, leaking;
  for (int64_t i = 0; i < rows; ++i) once.push_back(noise());
  for (std::size_t i = 0; i < once.size(); ++i) {
    leaking.push_back(once[i]);
    leaking.push_back(i + 1 < once.size() ? once[i + 1] : 0);  // a window shifted by one into the target
  }
  // A linear model of the window, trained and tested through the windows that every model is given.
  const auto test_error = [&](const Series& series) {
    const SeriesSplit split = split_at_rows(rows, train_end, train_end);
    std::vector<std::string> notes;
    const Scaling scaling = fit_scaling(series, split.train, ScalingKind::standard, notes);
    const SeriesWindowOptions options{.window = window, .targets = {0}};
    const auto matrix = [&](SeriesWindows& windows) {
      Values x, y;
      for (int64_t k = 0; k < windows.batches(1); ++k) {
        const SeriesBatch batch = windows.batch(k, 1);
        x.insert(x.end(), batch.input.data(), batch.input.data() + batch.input.size());
        x.push_back(1);
        y.push_back(batch.target.item());
      }
      return std::pair(x, y);
    };
    SeriesWindows train(series, scaling, split.train, "train", options);
    SeriesWindows test(series, scaling, split.test, "test", options);
    auto [x, y] = matrix(train);
    const std::size_t columns = x.size() / y.size();
    const Values w = least_squares(x, y, static_cast<int>(columns));
    std::tie(x, y) = matrix(test);
    Values predictions;
    for (std::size_t row = 0; row < y.size(); ++row) {
      double sum = 0;
      for (std::size_t c = 0; c < columns; ++c) sum += x[row * columns + c] * w[c];
      predictions.push_back(scaling.undo(sum, 0));
    }
    ForecastScores scores(test);
    scores.add(test.origins(), predictions);
    CHECK(scores.windows() == rows - train_end);  // none is dropped
    return scores.overall().mse;
  };
  const double standard_error = std::sqrt(0.8 / (rows - train_end));
  CHECK(test_error(make_series({"x"}, once)) > 1 - 4 * standard_error);
  CHECK_FALSE(test_error(make_series({"x", "leak"}, leaking)) > 1 - 4 * standard_error);
}

// --- detection ---------------------------------------------------------------------------------------------

namespace {

// Label 1 where x > 2, y is noise, z is constant.
Series labelled(int64_t rows) {
  Noise noise(5);
  Values values;
  for (int64_t i = 0; i < rows; ++i) {
    const double x = 2 + noise();
    for (const double value : {x, noise(), 7.0, x > 2 ? 1.0 : 0.0}) values.push_back(value);
  }
  Series series = make_series({"x", "y", "z", "on"}, values);
  series.label = 3;
  return series;
}

}  // namespace

TEST_CASE("baselines of detection find what decides") {
  const Series series = labelled(400);
  const SeriesWindows train(series, unscaled(series), {{0, 300, 0}}, "train", {.window = 3, .lead = 0});
  const SeriesWindows test(series, unscaled(series), {{300, 400, 0}}, "test", {.window = 3, .lead = 0});
  CHECK(test.count() == 100);
  const DetectionBaseline threshold = threshold_baseline(train);
  CHECK(lacks(threshold.name, {"threshold x >"}) == "");
  CHECK(score(threshold, test).accuracy >= 0.98);
  const DetectionScores logistic = score(logistic_regression(train), test);
  CHECK(logistic.accuracy >= 0.97);
  CHECK(logistic.roc_auc >= 0.999);
  const DetectionScores majority = score(majority_class(train), test);
  CHECK(majority.roc_auc == 0.5);
  const double positives = static_cast<double>(majority.positives) / 100;
  CHECK((majority.accuracy == positives || majority.accuracy == 1 - positives));

  Series reversed = series;  // the label means the opposite
  for (int64_t row = 0; row < 400; ++row)
    reversed.values[static_cast<std::size_t>(4 * row + 3)] = 1 - series.at(row, 3);
  const SeriesWindows other(reversed, unscaled(reversed), {{0, 300, 0}}, "train", {.window = 3, .lead = 0});
  CHECK(lacks(threshold_baseline(other).name, {"threshold x <"}) == "");
  for (int64_t row = 0; row < 400; ++row) reversed.values[static_cast<std::size_t>(4 * row + 3)] = row == 200;
  for (int64_t row = 0; row < 400; ++row) reversed.values[static_cast<std::size_t>(4 * row)] = 1;
  const SeriesWindows rare(reversed, unscaled(reversed), {{0, 300, 0}}, "train",
                           {.window = 3, .lead = 0, .inputs = {0}});
  CHECK(threshold_baseline(rare).name == "threshold: always 0");  // where no threshold is right more often
  CHECK(lacks(error_of([&] {
                window_labels(SeriesWindows(series, unscaled(series), {{0, 9, 0}}, "train",
                                            {.window = 1, .inputs = {0}, .targets = {0}}));
              }),
              {"predict one label"}) == "");
}

TEST_CASE("baselines look at the last row that a window reads, and at the label before the one asked for") {
  const Series series = labelled(50);
  // Early warning: the label of the row after the last one read is noise to the baselines.
  const SeriesWindows late(series, unscaled(series), {{0, 50, 0}}, "train", {.window = 1, .lead = 1});
  const DetectionBaseline before = previous_label(late);
  std::vector<int> labels = window_labels(late);
  for (std::size_t i = 1; i < labels.size(); ++i)
    CHECK(before.probability(series, late.origins()[i], late.origins()[i] - 1) == labels[i - 1]);
  CHECK(before.probability(series, 0, 0) == 0);
  const DetectionBaseline threshold = threshold_baseline(late);
  Series changed = series;
  changed.values[4 * 20] = changed.values[4 * 20 + 1] = 1e6;  // row 20 is asked for, 19 was read
  CHECK(threshold.probability(changed, 20, 19) == threshold.probability(series, 20, 19));
}

TEST_CASE("logistic regression is at the minimum of its loss, also where classes can be parted") {
  // At the minimum Σ (label - p) x = w for each standardised channel, Σ (label - p) = 0.
  const Series series = labelled(200);
  const SeriesWindows train(series, unscaled(series), {{0, 200, 0}}, "train", {.window = 1, .lead = 0});
  const DetectionBaseline logistic = logistic_regression(train);
  double error_sum = 0;
  Values weight(2), gradient(2, 0), mean(2, 0), deviation(2, 0);
  for (int c = 0; c < 2; ++c) {
    const auto i = static_cast<std::size_t>(c);
    for (int64_t row = 0; row < 200; ++row) mean[i] += series.at(row, c) / 200;
    for (int64_t row = 0; row < 200; ++row) deviation[i] += std::pow(series.at(row, c) - mean[i], 2) / 200;
    deviation[i] = std::sqrt(deviation[i]);
    // The weight, from what a step of one deviation does to the logit.
    Series probe = make_series(series.channels, {mean[0], mean[1], 7, 0, mean[0], mean[1], 7, 0});
    probe.values[static_cast<std::size_t>(4 + c)] += deviation[i] / 8;
    const auto logit = [&](int64_t row) {
      const double p = logistic.probability(probe, row, row);
      return std::log(p / (1 - p));
    };
    weight[i] = 8 * (logit(1) - logit(0));
  }
  for (int64_t row = 0; row < 200; ++row) {
    const double error = series.at(row, 3) - logistic.probability(series, row, row);
    error_sum += error;
    for (int c = 0; c < 2; ++c) {
      const auto i = static_cast<std::size_t>(c);
      gradient[i] += error * (series.at(row, c) - mean[i]) / deviation[i];
    }
  }
  // The search ends where the loss falls by less than 1e-12 of itself: the gradient is about the root of
  // that.
  CHECK(std::abs(error_sum) < 1e-4);
  for (std::size_t i = 0; i < 2; ++i) CHECK(std::abs(gradient[i] - weight[i]) < 1e-4);
}

TEST_CASE("a signal ends every baseline, whose data may be large") {
  const Series series = labelled(50);
  const SeriesWindows rows(series, unscaled(series), {{0, 50, 0}}, "train", {.window = 1, .lead = 0});
  const SeriesWindows ahead(series, unscaled(series), {{0, 50, 0}}, "train", {.window = 2, .targets = {0}});
  const std::vector<int32_t> text = {0, 1, 2, 0, 1, 2};
  const NgramModel counted(3, text, 3, 2);
  const SignalGuard guard;
  std::raise(SIGTERM);
  CHECK_THROWS_AS(NgramModel(3, text, 3, 2), Interrupted);
  CHECK_THROWS_AS((void)counted.perplexity(text), Interrupted);
  CHECK_THROWS_AS((void)for_each_forecast(last_value(), ahead, [](auto, const auto&) {}), Interrupted);
  CHECK_THROWS_AS((void)threshold_baseline(rows), Interrupted);
  CHECK_THROWS_AS((void)logistic_regression(rows), Interrupted);
}

TEST_CASE("the range before a forecast is that of its own series") {
  Series series = make_series({"x"}, {1, 900, 4, 1, 5, 2});
  series.id_name = "id", series.members = {{"a", 0, 2}, {"b", 2, 6}};
  // Four rows from 1 to 5: a step may be 3 (1 + 1/4) 4 = 15 outside.
  CHECK_FALSE(RangeBefore(series, 6, 0).is_left_by(Values{19.9}));
  CHECK(RangeBefore(series, 6, 0).is_left_by(Values{20.1}));
}

TEST_CASE("the majority class says the share of label 1, and a threshold lies midway between values") {
  Series series = make_series({"x", "on"}, {1, 0, 5, 1, 2, 0, 9, 1, 2, 0});
  series.label = 1;
  const SeriesWindows windows(series, unscaled(series), {{0, 5, 0}}, "train", {.window = 1, .lead = 0});
  CHECK(majority_class(windows).probability(series, 0, 0) == 0.4);
  const DetectionBaseline threshold = threshold_baseline(windows);
  CHECK(threshold.name == "threshold x > 3.5");
  const Series other = make_series({"x", "on"}, {3.4, 0, 3.6, 0});
  CHECK((threshold.probability(other, 0, 0) == 0 && threshold.probability(other, 1, 1) == 1));
}
