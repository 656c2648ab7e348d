#include "examples/timeseries/scores/watch.h"

#include <algorithm>
#include <cmath>

#include "examples/timeseries/scores/scores.h"

namespace timeseries {

namespace {

// Errors of windows that lack values. They are larger, so they are compared with windows that lack as many or more.
struct LackingErrors {
  std::vector<std::pair<int64_t, std::vector<double>>> known = {};  // missing values, and errors [targets]
  // NaN: fewer than 8 such errors are known.
  double p_value(int64_t missing, size_t target, double error) const {
    int64_t all = 0, not_less = 0;
    for (const auto& [lacked, errors] : known)
      if (lacked >= missing && std::isfinite(errors[target])) ++all, not_less += errors[target] >= error;
    return all < ConformalInterval::least_errors || std::isnan(error)
               ? std::nan("")
               : static_cast<double>(1 + not_less) / static_cast<double>(1 + all);
  }
};

int64_t missing_before(const SeriesWindows& windows, int64_t origin) {
  int64_t missing = 0;
  for (int64_t row = origin - windows.options().window; row < origin; ++row)
    for (const int channel : windows.options().inputs) missing += windows.series().is_filled(row, channel);
  return missing;
}

}  // namespace

Watch watch(const Recipe& recipe, const SeriesData& data, SeriesWindows& windows,
            const Forecasts& forecasts) {
  const std::vector<int>& targets = data.targets();
  LackingErrors lacking;
  ForecastInterval interval = make_interval(recipe, data.facts.trained, windows, recipe.data.horizon, false);
  interval.errors_of = "the test's rows before";
  const Forecasts noting = [&](SeriesWindows& valid, const ForecastUse& use) {
    return forecasts(valid, [&](WindowForecast& forecast) {
      if (const int64_t missing = missing_before(valid, forecast.origin))
        lacking.known.emplace_back(
            missing, interval.widths.errors_of(forecast.origin, forecast.values, forecast.values));
      use(forecast);
    });
  };
  if (auto valid = windows_if_any(recipe, data.series(), data.facts.scaling,
                                  from_rows(data.split.valid, data.series(), data.first_untrained)))
    if (learn_from(interval, noting, *valid, true)) interval.errors_of = "the validation split";
  Watch found{.values = {}, .known = 0, .errors_of = interval.errors_of};
  bool is_first = true;
  forecasts(windows, [&](WindowForecast& forecast) {
    const std::vector<double> errors =
        interval.widths.errors_of(forecast.origin, forecast.values, forecast.values);
    std::vector<double> p = interval.widths.p_values(forecast.origin, errors);
    const int64_t missing = missing_before(windows, forecast.origin);
    for (size_t t = 0; missing > 0 && t < p.size(); ++t) p[t] = lacking.p_value(missing, t, errors[t]);
    const bool is_watched = missing == 0 || !std::ranges::all_of(p, [](double v) { return std::isnan(v); });
    found.not_watched += !is_watched;
    if (missing > 0) lacking.known.emplace_back(missing, errors);
    if (std::exchange(is_first, false)) {
      const auto [chose, others] = interval.widths.known();
      found.known = chose + others;
    }
    forecast.low = forecast.high = forecast.values;  // for quantiles: the middle one
    interval.put(forecast);
    for (size_t t = 0; t < targets.size(); ++t)
      if (!std::isnan(p[t]))
        found.values.push_back({forecast.origin, t, forecast.values[t], forecast.low[t], forecast.high[t],
                                errors[t], std::min(1.0, p[t] * static_cast<double>(targets.size()))});
    if (is_watched) interval.widths.learn(forecast.origin, forecast.values, forecast.values, false);
  });
  return found;
}

}  // namespace timeseries
