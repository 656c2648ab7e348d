#include "examples/timeseries/session/ensemble_folds.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "examples/timeseries/session/session.h"
#include "framework/check.h"
#include "framework/processes/processes.h"

namespace timeseries {

namespace {

// A forecaster of the folds: a member, or a baseline of the tables.
struct Forecasting {
  std::string name;  // as tables print it
  std::string word;  // of a baseline
  int network = -1;
  int member = -1;          // of the ensemble; -1: it stands in the tables alone
  bool is_complete = true;  // it has forecast every window, and did not explode
};

struct FoldWindow {
  size_t fold = 0;
  int64_t origin = 0;
  std::vector<std::vector<double>> forecasts;  // by Forecasting, [horizon * targets]
};

std::vector<Forecasting> all_of(const Recipe& recipe) {
  std::vector<Forecasting> all;
  int network = 0;
  for (const EnsembleWord& word : ensemble_words(recipe)) {
    const auto member = static_cast<int>(all.size());
    if (word.network)
      all.push_back({.name = name_of(word), .word = {}, .network = network++, .member = member});
    else
      all.push_back({.name = word.name, .word = word.name, .member = member});
  }
  for (const ForecastBaselineRow& row : forecast_baselines)
    if (row.is_in_tables(recipe.data) && std::ranges::find(all, row.word, &Forecasting::word) == all.end())
      all.push_back({.name = std::string(row.word), .word = std::string(row.word)});
  return all;
}

void forecast_fold(size_t fold, SeriesTraining& training, std::vector<Forecasting>& all,
                   std::vector<FoldWindow>& windows) {
  training.fit();
  SeriesData& data = training.data();
  SeriesWindows& test = data.tests.front().windows;
  test.in_order();
  RangeSoFar so_far;
  const size_t first = windows.size();
  for (const int64_t origin : test.origins())
    windows.push_back({fold, origin, std::vector<std::vector<double>>(all.size())});
  for (size_t f = 0; f < all.size(); ++f) {
    size_t at = first;
    const auto keep = [&](WindowForecast& forecast) {
      if (so_far.is_left_by(forecast.values, data.series(), forecast.origin, data.targets()))
        all[f].is_complete = false;
      windows[at++].forecasts[f] = std::move(forecast.values);
    };
    if (all[f].network >= 0) {
      forecasts_of(training.recipe(), training.model(), static_cast<size_t>(all[f].network))(test, keep);
      continue;
    }
    const auto baseline =
        baseline_row(all[f].word)->make({training.recipe().data, data.series(), data.split.train.back().end,
                                         data.split.train, data.targets()});
    if (!baseline || !forecasts_of(*baseline)(test, keep)) all[f].is_complete = false;
    if (baseline) all[f].name = baseline->name;
  }
}

// Trains on each fold's rows, and forecasts its test.
std::vector<FoldWindow> forecast_folds(const RunOptions& run, const Recipe& recipe, const Series& series,
                                       const std::vector<SeriesSplit>& splits, std::vector<Forecasting>& all,
                                       const Console& console) {
  std::vector<FoldWindow> windows;
  RunOptions quiet = run;
  quiet.quiet = true, quiet.dry_run = true;  // nothing is written, and nothing said
  for (const SeriesSplit& split : splits) {
    const size_t number = windows.empty() ? 0 : windows.back().fold + 1;
    console.info("fold    {}/{}: {} to {}\n", number + 1, splits.size(),
                 series.times.text(split.test.front().begin), series.times.text(split.test.back().end - 1));
    SeriesTraining training(quiet, recipe, {.fold = split});
    forecast_fold(number, training, all, windows);
  }
  return windows;
}

// Errors of one target [values], of the windows that are in `folds`; those of values that were filled in are left out.
template <class In>
std::vector<double> errors_of(const Series& series, const std::vector<FoldWindow>& windows, size_t f,
                              size_t target, const std::vector<int>& targets, In in) {
  std::vector<double> errors;
  const int channel = targets[target];
  for (const FoldWindow& window : windows) {
    if (!in(window.fold)) continue;
    const auto& values = window.forecasts[f];
    for (size_t i = target; i < values.size(); i += targets.size()) {
      const int64_t row = window.origin + static_cast<int64_t>(i / targets.size());
      if (!series.is_filled(row, channel)) errors.push_back(values[i] - series.at(row, channel));
    }
  }
  return errors;
}

double mean_square(const std::vector<double>& errors, double scale) {
  double sum = 0;
  for (const double e : errors) sum += e * e / (scale * scale);
  return sum / static_cast<double>(errors.size());
}

// The weights of all members [members][targets], by the errors in the folds that `in` names.
template <class In>
std::vector<std::vector<double>> weights_by(const Recipe& recipe, const SeriesData& data,
                                            const std::vector<FoldWindow>& windows,
                                            const std::vector<Forecasting>& all, size_t members, In in) {
  const std::vector<int>& targets = data.targets();
  std::vector<std::vector<double>> weights(members, std::vector<double>(targets.size()));
  for (const std::vector<size_t>& together : weighed_together(recipe, targets.size())) {
    std::vector<size_t> which;
    std::vector<std::vector<double>> errors;
    for (size_t m = 0; m < members; ++m) {
      if (!all[m].is_complete) continue;
      std::vector<double> of;
      for (const size_t t : together) {
        const double scale = together.size() > 1 ? data.facts.scaling.scale[targets[t]] : 1;
        for (const double e : errors_of(data.series(), windows, m, t, targets, in)) of.push_back(e / scale);
      }
      if (of.empty() || !std::ranges::all_of(of, [](double e) { return std::isfinite(e); })) continue;
      which.push_back(m), errors.push_back(std::move(of));
    }
    require_input(!errors.empty(), "{}: no member of the ensemble can forecast the folds of '{}'",
                  data.series().origin, data.series().channels[targets[together.front()]]);
    const std::vector<double> found = weights_of(recipe.ensemble.weights, products_of(errors));
    for (size_t k = 0; k < which.size(); ++k)
      for (const size_t t : together) weights[which[k]][t] = found[k];
  }
  return weights;
}

std::vector<double> combined(const FoldWindow& window, const std::vector<std::vector<double>>& weights) {
  std::vector<double> sum;
  for (size_t m = 0; m < weights.size(); ++m) {
    const auto& values = window.forecasts[m];
    sum.resize(std::max(sum.size(), values.size()));
    for (size_t i = 0; i < values.size(); ++i)
      if (const double w = weights[m][i % weights[m].size()]; w > 0) sum[i] += w * values[i];
  }
  return sum;
}

}  // namespace

int64_t rows_of_fold(const Recipe& recipe, int64_t train_rows) {
  if (recipe.ensemble.fold_rows > 0) return recipe.ensemble.fold_rows;
  constexpr int64_t further = 4;  // so that a fold has five windows at least
  return std::max<int64_t>(recipe.data.horizon + further, train_rows / 20);
}

EnsembleFacts run_folds(const RunOptions& run, const Recipe& recipe, const std::filesystem::path& csv,
                        const Console& console, const std::optional<SeriesSplit>& fold) {
  require_input(process_count() == 1,
                "an ensemble's folds are trained by one process, not {} (ensemble.members)", process_count());
  SeriesData data(recipe, csv, {.fold = fold});
  const Series& series = data.series();
  const std::vector<int>& targets = data.targets();
  const int64_t rows = data.split.train.back().end, fold_rows = rows_of_fold(recipe, rows);
  const auto& e = recipe.ensemble;
  const int64_t first_train = rows - e.folds * fold_rows, least = recipe.data.window + recipe.data.horizon;
  require_input(
      first_train >= least,
      "{}: {} rows train; {} folds of {} rows leave {} for the first one, and a window and its horizon take {}: "
      "fewer folds (ensemble.folds), or a shorter window (data.window)",
      series.origin, rows, e.folds, fold_rows, std::max<int64_t>(first_train, 0), least);
  std::vector<Forecasting> all = all_of(recipe);
  const size_t members = e.members.size(), folds = static_cast<size_t>(e.folds);
  std::vector<FoldWindow> windows =
      forecast_folds(run, recipe, series, rolling_origin(rows, e.folds, fold_rows, 0), all, console);

  EnsembleFacts facts{.from = series.times.text(first_train),
                      .to = series.times.text(rows - 1),
                      .windows = static_cast<int64_t>(windows.size())};
  const auto every = [](size_t) { return true; };
  const auto weights = weights_by(recipe, data, windows, all, members, every);
  std::vector<std::vector<std::vector<double>>> without;  // by fold
  for (size_t number = 0; number < folds; ++number)
    without.push_back(folds == 1 ? weights
                                 : weights_by(recipe, data, windows, all, members,
                                              [number](size_t k) { return k != number; }));

  // The ensemble is one more that forecasts.
  const size_t ensemble = all.size();
  all.push_back({.name = "the model", .word = {}});
  ForecastInterval interval =
      make_interval(recipe, data.facts.trained, *data.train, recipe.data.horizon, false);
  for (FoldWindow& window : windows) {
    window.forecasts.push_back(combined(window, without[window.fold]));
    const auto& values = window.forecasts.back();
    WindowForecast forecast{window.origin, values, values, values};
    interval.put_and_learn(forecast, false);
    interval.count(series, forecast, targets);
  }
  facts.within = interval.within, facts.counted = interval.counted;
  for (size_t f = 0; f < all.size(); ++f) {
    std::vector<double> mse;
    for (size_t t = 0; t < targets.size(); ++t)
      mse.push_back(all[f].is_complete ? mean_square(errors_of(series, windows, f, t, targets, every),
                                                     data.facts.scaling.scale[targets[t]])
                                       : std::nan(""));
    if (f < members) facts.members.push_back({all[f].name, weights[f], mse});
    if (f == ensemble) facts.scaled_mse = mse;
    if (all[f].network >= 0 || !all[f].is_complete) continue;
    const size_t first = windows.size() - std::min(windows.size(), most_fold_errors);
    for (size_t w = first; w < windows.size(); ++w)
      facts.errors[all[f].name].push_back(
          interval.widths.errors_of(windows[w].origin, windows[w].forecasts[f], windows[w].forecasts[f]));
  }
  return facts;
}

}  // namespace timeseries
