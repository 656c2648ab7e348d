#include "examples/timeseries/model/interval.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "framework/one_line.h"
#include "framework/signals.h"
#include "training/report/run_description.h"

namespace timeseries {

// --- forecasts ---------------------------------------------------------------------------------------------

Forecasts forecasts_of(const Recipe& recipe, const SeriesModel& model) {
  return [&recipe, &model](SeriesWindows& windows, const ForecastUse& use) {
    const std::vector<int>& targets = windows.options().targets;
    const size_t width = targets.size(), values = static_cast<size_t>(windows.options().horizon) * width;
    const bool quantiles = has_quantile_interval(recipe, windows.options().horizon);
    windows.in_order();
    for (int64_t k = 0; k < windows.batches(recipe.data.eval_batch); ++k) {
      stop_if_signalled();
      const SeriesBatch batch = windows.batch(k, recipe.data.eval_batch);
      const Tensor found = model.predict(batch.input);
      require_finite(found, windows, batch.origins.front());
      const size_t count = batch.origins.size();
      // [horizon, batch, targets] of an output: those of one window.
      const auto of_window = [&](const std::vector<real>& scaled, size_t b) {
        std::vector<double> result(values);
        for (size_t i = 0; i < values; ++i)
          result[i] = windows.scaling().undo(
              static_cast<double>(scaled[(i / width * count + b) * width + i % width]),
              windows.scaling().place(targets[i % width], windows.series().member_of(batch.origins[b])));
        return result;
      };
      const std::vector<real> middle = found[recipe.middle_output()].to_host();
      const std::vector<real> low = quantiles ? found[0].to_host() : middle;
      const std::vector<real> high = quantiles ? found[found.dim(0) - 1].to_host() : middle;
      for (size_t b = 0; b < count; ++b) {
        WindowForecast forecast{batch.origins[b], of_window(middle, b), of_window(low, b),
                                of_window(high, b)};
        use(forecast);
      }
    }
    return true;
  };
}

Forecasts forecasts_of(const ForecastBaseline& baseline) {
  return [&](SeriesWindows& windows, const ForecastUse& use) {
    windows.in_order();
    return for_each_forecast(baseline, windows, [&](int64_t origin, const std::vector<double>& values) {
      WindowForecast forecast{origin, values, values, values};
      use(forecast);
    });
  };
}

// --- intervals ---------------------------------------------------------------------------------------------

std::optional<double> ForecastInterval::coverage() const {
  if (counted == 0) return {};
  return static_cast<double>(within) / static_cast<double>(counted);
}

void ForecastInterval::count(const Series& series, const WindowForecast& forecast,
                             std::span<const int> targets) {
  for (size_t i = 0; i < forecast.low.size(); ++i) {
    const int64_t row = forecast.origin + static_cast<int64_t>(i / targets.size());
    const int channel = targets[i % targets.size()];
    if (series.is_filled(row, channel) || std::isnan(forecast.low[i])) continue;
    ++counted;
    within += forecast.low[i] <= series.at(row, channel) && series.at(row, channel) <= forecast.high[i];
  }
}

void ForecastInterval::put(WindowForecast& forecast, std::span<const double> further) {
  widths.widen(forecast.origin, forecast.values, forecast.low, forecast.high, further);
  bound = widths.bounds().text(forecast.origin);
}

void ForecastInterval::put_and_learn(WindowForecast& forecast, bool chose) {
  if (widths.is_pooled()) return put(forecast);
  const std::vector<double> low = forecast.low, high = forecast.high;  // as they were
  put(forecast);
  widths.learn(forecast.origin, low, high, chose);
}

bool has_quantile_interval(const Recipe& recipe, int steps) {
  return recipe.has_quantiles() && recipe.outputs() > 1 && steps <= recipe.data.horizon;
}

static SeriesBounds::Options bound_options(const Recipe& recipe, const TrainedOn& trained,
                                           const SeriesWindows& windows) {
  return {.asked = recipe.data.bounds,
          .least = trained.least,
          .most = trained.most,
          .periods = std::vector<int64_t>(windows.options().targets.size(), recipe.data.period)};
}

SeriesBounds bounds_of(const Recipe& recipe, const TrainedOn& trained, const SeriesWindows& windows) {
  return {windows.series(), windows.options().targets, bound_options(recipe, trained, windows)};
}

ForecastInterval make_interval(const Recipe& recipe, const TrainedOn& trained, const SeriesWindows& windows,
                               int steps, bool quantiles, bool beside_quantiles) {
  ConformalInterval::Options options{
      .steps = steps, .has_quantiles = quantiles, .bounds = bound_options(recipe, trained, windows)};
  if (!quantiles && !beside_quantiles) return {.widths = ConformalInterval(windows, options)};
  const double low = recipe.training.quantiles.front(), high = recipe.training.quantiles.back();
  options.level = high - low;
  return {.widths = ConformalInterval(windows, options), .below = low, .above = 1 - high};
}

bool learn_from(ForecastInterval& interval, const Forecasts& forecasts, SeriesWindows& valid, bool chose,
                int64_t count) {
  if (interval.widths.is_pooled()) {
    if (count == 0) count = valid.count();
    const int64_t each = (count - 1) / ConformalInterval::most_errors_of_all + 1;
    int64_t k = 0;
    return forecasts(valid, [&](WindowForecast& forecast) {
      if (k++ % each == 0)
        interval.widths.know(interval.widths.errors_of(forecast.origin, forecast.low, forecast.high), chose);
    });
  }
  return forecasts(valid, [&](WindowForecast& forecast) {
    interval.widths.learn(forecast.origin, forecast.low, forecast.high, chose);
  });
}

bool score_with(ForecastInterval& interval, const Forecasts& forecasts, SeriesWindows& windows,
                std::span<const int64_t> first, bool counts, ForecastScores& scores,
                const ForecastUse& seen) {
  // A point forecast beside uneven quantiles does not: its interval leaves out as much below as above.
  const bool compares =
      interval.widths.options().has_quantiles || std::abs(interval.below - interval.above) < 1e-9;
  return forecasts(windows, [&](WindowForecast& forecast) {
    if (forecast.origin < first[windows.series().member_of(forecast.origin)]) {
      interval.widths.bounds().clamp(forecast.origin, forecast.values);
      std::ranges::fill(forecast.low, std::nan("")), std::ranges::fill(forecast.high, std::nan(""));
    } else {
      interval.put_and_learn(forecast, !counts);
    }
    if (counts && compares) {
      interval.count(windows.series(), forecast, windows.options().targets);
      scores.add({&forecast.origin, 1}, forecast.values,
                 {forecast.low, forecast.high, interval.below, interval.above});
    } else {
      scores.add({&forecast.origin, 1}, forecast.values);
    }
    seen(forecast);
  });
}

// --- words -------------------------------------------------------------------------------------------------

std::string name_of(const ForecastInterval& interval, const Recipe& recipe) {
  if (!interval.widths.options().has_quantiles)
    return fmt::format("{:.0f} % interval", 100 * interval.widths.options().level);
  const auto& quantiles = recipe.training.quantiles;
  return fmt::format("quantiles {:g} to {:g}", quantiles.front(), quantiles.back());
}

std::string describe(const ForecastInterval& interval, const Recipe& recipe) {
  const bool quantiles = interval.widths.options().has_quantiles;
  std::string text =
      quantiles ? name_of(interval, recipe) : fmt::format("{:.0f} %", 100 * interval.widths.options().level);
  const auto [chose, others] = interval.widths.known();
  const int64_t known = chose + others, needed = interval.widths.needed();
  if (interval.widths.is_known())
    text += fmt::format("{} by the errors of the last {} forecasts{}", quantiles ? ", widened" : ",",
                        with_commas(known), interval.errors_of.empty() ? "" : " of " + interval.errors_of);
  else if (quantiles)
    text += fmt::format(", not widened: {} error{} are known, and {} take part at least", known,
                        plural(known), ConformalInterval::least_errors);
  if (interval.widths.is_known() && known < needed)
    text += fmt::format(", too few for {:g} %, which takes {}: it may hold less",
                        100 * interval.widths.options().level, with_commas(needed));
  if (!interval.bound.empty()) text += ", " + interval.bound;
  if (const auto share = interval.coverage())
    return text + fmt::format("; of the test's {} values {:.0f} % lie within, by the errors {}",
                              with_commas(interval.counted), 100 * *share,
                              interval.widths.is_pooled() ? "of the validation split" : "before each");
  return text +
         "; how many values lie within is not measured: all rows here trained the model, chose it, or set the width";
}

}  // namespace timeseries
