#include "examples/timeseries/recipe/recipe_baselines.h"

#include <fmt/format.h>

#include "framework/check.h"

namespace timeseries {

namespace {

// What can be 0 or less has no growth.
bool is_positive(const Series& series, int64_t rows, const std::vector<int>& channels) {
  for (int64_t row = 0; row < rows; ++row)
    for (const int channel : channels)
      if (series.at(row, channel) <= 0) return false;
  return true;
}

}  // namespace

std::optional<ForecastBaseline> baseline_of(const std::string& word, const Recipe& recipe,
                                            const Series& series, int64_t known, const Part& train,
                                            const std::vector<int>& targets) {
  const auto& d = recipe.data;
  if (word == "last") return last_value();
  if (word == "drift") return drift();
  if (word == "mean") return training_mean(series, train);
  if (word == "seasonal") return seasonal_naive(d.period);
  if (word == "second-seasonal") return seasonal_naive(d.second_period);
  if (word == "growth" || word == "second-growth") {
    if (!is_positive(series, known, targets)) return {};
    return seasonal_growth(word == "growth" ? d.period : d.second_period, d.horizon);
  }
  if (word == "autoregression") {
    if (!can_fit_autoregression(series, train, d.autoregression, targets)) return {};
    return autoregression(series, train, d.autoregression, targets);
  }
  if (word == "ridge") return ridge(series, train, d.window, d.horizon, {d.period, d.second_period}, targets);
  if (word == "ets") return ets(series, train, d.period, targets);
  require(word == "theta", "baselines: '{}' is none", word);
  return theta(series, train, d.period, targets);
}

std::vector<ForecastBaseline> baselines_of(const Recipe& recipe, const Series& series, const Part& train,
                                           const std::vector<int>& targets,
                                           std::vector<std::string>& left_out) {
  const auto& d = recipe.data;
  std::vector<ForecastBaseline> baselines;
  const auto add = [&](const char* word, const std::string& name) {
    if (auto baseline = baseline_of(word, recipe, series, series.rows(), train, targets))
      baselines.push_back(std::move(*baseline));
    else if (!name.empty())
      left_out.push_back(name);
  };
  add("last", ""), add("drift", "");
  if (d.period > 1) add("seasonal", ""), add("growth", "");
  if (d.second_period > 1) add("second-seasonal", ""), add("second-growth", "");
  add("mean", "");
  // Of a shorter file than the model's own.
  if (d.autoregression > 0) add("autoregression", fmt::format("autoregression ({})", d.autoregression));
  if (d.ridge) add("ridge", fmt::format("ridge regression ({})", d.window));
  if (d.ets) add("ets", "ETS");
  if (d.theta) add("theta", "Theta");
  return baselines;
}

}  // namespace timeseries
