#include "interval.h"

#include <cmath>

#include "framework/signals.h"
#include "training/report/run_description.h"

namespace timeseries {

std::optional<double> ForecastInterval::coverage() const {
  if (counted == 0) return {};
  return static_cast<double>(within) / static_cast<double>(counted);
}

void ForecastInterval::count(const Series& series, int64_t origin, std::span<const int> targets,
                             std::span<const double> values, std::span<const double> low,
                             std::span<const double> high) {
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t row = origin + static_cast<int64_t>(i / targets.size());
    const int channel = targets[i % targets.size()];
    if (series.is_filled(row, channel)) continue;
    const double truth = series.at(row, channel);
    ++counted;
    within += half.empty() ? low[i] <= truth && truth <= high[i] : std::abs(values[i] - truth) <= half[i];
  }
}

bool has_quantile_interval(const Recipe& recipe, int steps) {
  return recipe.has_quantiles() && recipe.outputs() > 1 && steps <= recipe.data.horizon;
}

std::optional<ForecastInterval> interval_of(const ForecastScores& errors, std::string errors_of) {
  constexpr int64_t least = 8;
  constexpr double of_80_percent = 1.2816;  // standard deviations of a normal distribution
  ForecastInterval interval{.forecasts = errors.windows(), .errors_of = std::move(errors_of)};
  for (int step = 0; step < errors.horizon(); ++step)
    for (int target = 0; target < errors.targets(); ++target) {
      const ForecastErrors found = errors.at(step, target);
      if (found.count < least) return {};
      interval.half.push_back(of_80_percent * found.rmse);
    }
  return interval;
}

std::string name_of(const ForecastInterval& interval, const Recipe& recipe) {
  const auto& quantiles = recipe.training.quantiles;
  return interval.half.empty() ? fmt::format("quantiles {:g} to {:g}", quantiles.front(), quantiles.back())
                               : "80 % by the errors of " + interval.errors_of;
}

std::string describe(const ForecastInterval& interval, const Recipe& recipe) {
  std::string text = name_of(interval, recipe);
  if (!interval.half.empty())
    text = fmt::format("80 %, by the errors of {} forecasts of {}", with_commas(interval.forecasts),
                       interval.errors_of);
  if (const auto share = interval.coverage())
    return text + fmt::format("; of the test's {} values {:.0f} % lie within", with_commas(interval.counted),
                              100 * *share);
  return text +
         "; how many values lie within is not measured: all rows here trained the model, chose it, or set the width";
}

ForecastScores score_model(const Recipe& recipe, const SeriesModel& model, SeriesWindows& windows,
                           const std::vector<double>& mase_scale, ForecastInterval* interval, int64_t first,
                           FarOutside* far) {
  ForecastScores scores(windows, mase_scale);
  const std::vector<int>& targets = windows.options().targets;
  const auto horizon = static_cast<size_t>(windows.options().horizon);
  windows.in_order();
  for (int64_t k = 0; k < windows.batches(recipe.data.eval_batch); ++k) {
    stop_if_signalled();
    const SeriesBatch batch = windows.batch(k, recipe.data.eval_batch);
    const Tensor found = model.predict(batch.input);
    require_finite(found, windows, batch.origins.front());
    const std::vector<real> middle = found[recipe.middle_output()].to_host();
    scores.add_scaled(batch.origins, middle);
    if (!interval && !far) continue;
    const std::vector<real> low = found[0].to_host(), high = found[found.dim(0) - 1].to_host();
    const size_t count = batch.origins.size(), width = targets.size();
    for (size_t i = 0; far && i < middle.size(); ++i) {
      const size_t step = i / width / count, b = i / width % count;
      far->look(windows.scaling().undo(static_cast<double>(middle[i]), targets[i % width]),
                targets[i % width], batch.origins[b] + static_cast<int64_t>(step));
    }
    if (!interval) continue;
    for (size_t b = 0; b < count; ++b) {
      if (batch.origins[b] < first) continue;
      const auto of_window = [&](const std::vector<real>& scaled) {
        std::vector<double> values;
        for (size_t step = 0; step < horizon; ++step)
          for (size_t t = 0; t < width; ++t)
            values.push_back(windows.scaling().undo(
                static_cast<double>(scaled[(step * count + b) * width + t]), targets[t]));
        return values;
      };
      interval->count(windows.series(), batch.origins[b], targets, of_window(middle), of_window(low),
                      of_window(high));
    }
  }
  return scores;
}

}  // namespace timeseries
