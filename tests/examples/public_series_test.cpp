// The rows of the baselines that others have computed for public series.
#include "examples/timeseries/baselines/baselines.h"
#include "tests/data_files.h"
#include "tests/support.h"

using namespace unroll;

namespace {

using Values = std::vector<double>;

Scaling unscaled(const Series& series) {
  std::vector<std::string> notes;
  return fit_scaling(series, whole_series(series), ScalingKind::none, notes);
}

ForecastErrors errors_of(const ForecastBaseline& baseline, const SeriesWindows& windows,
                         const Values& scale = {}) {
  ForecastScores scores(windows, scale);
  REQUIRE(for_each_forecast(baseline, windows, [&](int64_t origin, const Values& forecast) {
    scores.add({&origin, 1}, forecast);
  }));
  return scores.overall();
}

std::string digits(double value, int places) { return fmt::format("{:.{}f}", value, places); }

}  // namespace

TEST_CASE("airline passengers: the last third a month ahead, and the last year") {
  const Series series = load_series(project_root() / "data/series/airline.csv");
  const SeriesSplit split = split_by_fraction(series.rows(), 0.67, 0);
  const SeriesWindows test(series, unscaled(series), split.test, "test", {.window = 12});
  CHECK(test.count() == 48);
  CHECK(digits(errors_of(last_value(), test).rmse, 2) == "48.04");
  CHECK(digits(errors_of(seasonal_naive(12), test).rmse, 2) == "41.85");
  CHECK(digits(errors_of(seasonal_growth(12, 1), test).rmse, 2) == "15.62");

  const SeriesWindows year(series, unscaled(series), {{132, 144, 0}}, "test", {.window = 12, .horizon = 12});
  const std::vector<int> targets = {0};
  const Values scale = mase_scale(series, {{0, 132, 0}}, 12, targets);
  CHECK(digits(scale[0], 2) == "30.45");
  const ForecastErrors seasonal = errors_of(seasonal_naive(12), year, scale);
  CHECK(digits(seasonal.mae, 2) == "47.83");
  CHECK(digits(seasonal.rmse, 2) == "50.71");
  CHECK(seasonal.mase == doctest::Approx(seasonal.mae / scale[0]));
  const ForecastErrors last = errors_of(last_value(), year),
                       growth = errors_of(seasonal_growth(12, 12), year);
  CHECK(digits(last.mae, 2) == "76.00");
  CHECK(digits(last.rmse, 2) == "102.98");
  CHECK(digits(growth.mae, 2) == "13.43");
  CHECK(digits(growth.rmse, 2) == "16.84");
}

TEST_CASE("sunspots: one month ahead, the last fifth") {
  const Series series = load_series(project_root() / "data/series/sunspots.csv");
  const SeriesSplit split = split_by_fraction(series.rows(), 0.8, 0);
  const SeriesWindows test(series, unscaled(series), split.test, "test", {.window = 1});
  CHECK(test.count() == 564);
  CHECK(digits(errors_of(last_value(), test).rmse, 2) == "20.09");
}

TEST_CASE("ETTh1: the naive rows of the standard protocol, seven channels and OT alone") {
  const auto path = series_file("ETTh1.csv");
  if (path.empty()) {
    std::puts("[skipped] the naive rows of ETTh1: UNROLL_SERIES names no folder with ETTh1.csv");
    return;
  }
  const Series series = load_series(path);
  const SeriesSplit split = split_at_rows(series.rows(), 8640, 11'520, 14'400);
  std::vector<std::string> notes;
  const Scaling scaling = fit_scaling(series, split.train, ScalingKind::standard, notes);
  const int ot = series.channel("OT");
  CHECK(digits(scaling.channels[static_cast<std::size_t>(ot)].shift, 6) == "17.128262");
  CHECK(digits(scaling.channels[static_cast<std::size_t>(ot)].scale, 6) == "9.176491");
  struct Row {
    int horizon;
    int64_t windows;
    std::string all[4], ot[3];  // MSE / MAE of last value, seasonal naive 24 and 168, and mean
  };
  for (const Row& row : {Row{24,
                             2857,
                             {"1.222/0.671", "0.424/0.389", "0.669/0.511", "1.110/0.795"},
                             {"0.0343/0.1394", "0.0458/0.1663", "0.1111/0.2635"}},
                         Row{48,
                             2833,
                             {"1.267/0.695", "0.465/0.407", "0.663/0.510", "1.109/0.795"},
                             {"0.0501/0.1711", "0.0576/0.1880", "0.1116/0.2644"}},
                         Row{168,
                             2713,
                             {"1.325/0.730", "0.571/0.462", "0.656/0.509", "1.111/0.797"},
                             {"0.0872/0.2288", "0.0871/0.2302", "0.1150/0.2699"}},
                         Row{720,
                             2161,
                             {"1.335/0.755", "0.655/0.514", "0.658/0.521", "1.097/0.802"},
                             {"0.1292/0.2834", "0.1252/0.2796", "0.1385/0.2980"}}}) {
    CAPTURE(row.horizon);
    const SeriesWindows all(series, scaling, split.test, "test", {.window = 336, .horizon = row.horizon});
    const SeriesWindows one(series, scaling, split.test, "test",
                            {.window = 336, .horizon = row.horizon, .inputs = {ot}, .targets = {ot}});
    CHECK(all.count() == row.windows);
    const ForecastBaseline baselines[] = {last_value(), seasonal_naive(24), seasonal_naive(168),
                                          training_mean(series, split.train)};
    for (std::size_t i = 0; i < 4; ++i) {
      const ForecastErrors errors = errors_of(baselines[i], all);
      CHECK(digits(errors.scaled_mse, 3) + "/" + digits(errors.scaled_mae, 3) == row.all[i]);
    }
    for (std::size_t i = 0; i < 3; ++i) {
      const ForecastErrors errors = errors_of(baselines[i], one);
      CHECK(digits(errors.scaled_mse, 4) + "/" + digits(errors.scaled_mae, 4) == row.ot[i]);
    }
  }
}

TEST_CASE("occupancy: majority, one line, logistic regression, and the label one minute ago") {
  std::vector<Series> files;
  for (const char* name :
       {"occupancy-datatraining.csv", "occupancy-datatest.csv", "occupancy-datatest2.csv"}) {
    const auto path = series_file(name);
    if (path.empty()) {
      fmt::print("[skipped] the rows of occupancy: UNROLL_SERIES names no folder with {}\n", name);
      return;
    }
    files.push_back(load_series(path, {.label = "Occupancy"}));
  }
  const auto accuracies = [&](DetectionBaseline (*fit)(const SeriesWindows&),
                              const std::vector<std::string>& channels) {
    SeriesWindowOptions options{.window = 1, .lead = 0};
    for (const std::string& name : channels) options.inputs.push_back(files[0].channel(name));
    const auto windows = [&](const Series& series) {
      return SeriesWindows(series, unscaled(series), whole_series(series), "test", options);
    };
    const DetectionBaseline baseline = fit(windows(files[0]));
    Values result;
    for (const Series& series : files) {
      const DetectionScores scores = score(baseline, windows(series));
      CHECK(scores.count == series.rows());
      result.push_back(scores.accuracy);
    }
    return result;
  };
  const auto printed = [](const Values& values) {
    return digits(values[0], 4) + " " + digits(values[1], 4) + " " + digits(values[2], 4);
  };
  CHECK(printed(accuracies(majority_class, {})) == "0.7877 0.6353 0.7899");
  CHECK(printed(accuracies(threshold_baseline, {"Light"})) == "0.9878 0.9786 0.9931");
  CHECK(printed(accuracies(threshold_baseline, {})) ==
        "0.9878 0.9786 0.9931");  // Light is found among all five
  const Values before = accuracies(previous_label, {});
  CHECK(digits(before[0], 3) + digits(before[1], 3) + digits(before[2], 3) == "0.9950.9900.995");
  // The penalty of the others' logistic regressions is not known: to 0.005.
  const auto near = [](const Values& values, const Values& published) {
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(values[i] >= published[i] - 0.005);
      CHECK(values[i] <= published[i] + 0.005);
    }
  };
  near(accuracies(logistic_regression, {"Light"}), {0.9856, 0.9786, 0.9923});
  near(accuracies(logistic_regression, {}), {0.9860, 0.9752, 0.9802});
  near(accuracies(logistic_regression, {"Temperature", "Humidity", "CO2", "HumidityRatio"}),
       {0.9253, 0.8822, 0.7632});
}
