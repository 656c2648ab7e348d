#include "forecaster.h"

#include <algorithm>
#include <cmath>

namespace timeseries {

Forecaster::Forecaster(const SavedModel& saved, const std::filesystem::path& csv, int steps)
    : saved_(saved), steps_(steps), rows_(0), held_out_(0) {
  const Recipe& recipe = saved_.recipe;
  require_input(!recipe.detects(), "{}: a detector; 'timeseries detect' is the command for it",
                saved.path.string());
  const int horizon = recipe.data.horizon, blocks = (steps + horizon - 1) / horizon;
  const int64_t beyond = int64_t{blocks} * horizon;
  series_ = load_series(saved_, csv, beyond);
  rows_ = series_.rows() - beyond;
  require_input(rows_ >= recipe.data.window,
                "{}: it has {} row{}; the model of {} reads the last {} to forecast", series_.origin, rows_,
                rows_ == 1 ? "" : "s", saved.path.string(), recipe.data.window);
  windows_ = std::make_unique<SeriesWindows>(
      make_windows(recipe, series_, saved_.facts.scaling, {{rows_, series_.rows(), 0}}, "forecast"));
  model_ = saved_.make_model(*windows_);
  const auto& inputs = windows_->options().inputs;
  for (const int input : inputs)
    require_input(blocks == 1 || input >= series_.width() - series_.calendar ||
                      std::ranges::find(targets(), input) != targets().end(),
                  "forecast: {} steps are more than the model's horizon of {}, and to go on it would have to "
                  "know '{}', which it does not forecast",
                  steps, horizon, series_.channels[static_cast<size_t>(input)]);
  const auto after_training = saved_.facts.first_after_training(series_);
  held_out_ = after_training.value_or(first_held_out(recipe, series_, rows_));
  if (!after_training && !saved_.facts.trained_to.empty())
    series_.notes.push_back(
        fmt::format("which rows are held out is by the recipe's split: training ended with {}, and the rows "
                    "begin with {}",
                    saved_.facts.trained_to, series_.times.text(0)));
}

std::vector<double> Forecaster::go_on(int64_t origin) {
  const Recipe& recipe = saved_.recipe;
  const int horizon = recipe.data.horizon, outputs = recipe.outputs();
  const auto width = static_cast<size_t>(series_.width()), count = targets().size();
  const auto steps = static_cast<size_t>(steps_);
  const std::vector<double> before = series_.values;
  std::vector<double> result(static_cast<size_t>(outputs) * steps * count);
  for (int first = 0; first < steps_; first += horizon) {
    const std::vector<real> found = model_->predict(windows_->input_before(origin + first)).to_host();
    for (int q = 0; q < outputs; ++q)
      for (int k = 0; k < std::min(horizon, steps_ - first); ++k)
        for (size_t t = 0; t < count; ++t) {
          const size_t at = static_cast<size_t>(q * horizon + k) * count + t;
          const double value = saved_.facts.scaling.undo(static_cast<double>(found[at]), targets()[t]);
          require(std::isfinite(value),
                  "forecast: step {} is not finite: the model cannot go on from its own forecasts so far",
                  first + k + 1);
          result[(static_cast<size_t>(q) * steps + static_cast<size_t>(first + k)) * count + t] = value;
          if (q == recipe.middle_output())
            series_
                .values[static_cast<size_t>(origin + first + k) * width + static_cast<size_t>(targets()[t])] =
                value;
        }
  }
  series_.values = before;
  return result;
}

std::vector<double> Forecaster::held_out_errors(int64_t origin) {
  constexpr int64_t most = 200;
  const int64_t first = std::max<int64_t>(held_out_, saved_.recipe.data.window), end = origin - steps_ + 1;
  count_ = std::max<int64_t>(0, std::min(most, end - first));
  const size_t values = static_cast<size_t>(steps_) * targets().size();
  std::vector<double> errors;
  for (int64_t k = 0; k < count_; ++k) {
    const int64_t from = first + k * (end - first) / count_;
    const std::vector<double> found = go_on(from);
    for (size_t i = 0; i < found.size(); ++i) {
      const size_t at = i % values;
      errors.push_back(found[i] - series_.at(from + static_cast<int64_t>(at / targets().size()),
                                             targets()[at % targets().size()]));
    }
  }
  return errors;
}

Forecast Forecaster::forecast(int64_t origin) {
  constexpr int64_t least = 8;
  constexpr double of_80_percent = 1.2816;  // standard deviations of a normal distribution
  const Recipe& recipe = saved_.recipe;
  const std::vector<double> found = go_on(origin);
  const size_t values = static_cast<size_t>(steps_) * targets().size(), outputs = found.size() / values;
  const auto middle = static_cast<size_t>(recipe.middle_output());
  const auto output = [&](size_t q) {
    const auto begin = found.begin() + static_cast<int64_t>(q * values);
    return std::vector<double>(begin, begin + static_cast<int64_t>(values));
  };
  Forecast forecast{origin, output(middle), {}, {}, {}};
  const std::vector<double> errors = held_out_errors(origin);
  const bool by_quantiles = outputs > 1 && steps_ <= recipe.data.horizon;
  if (!by_quantiles && count_ < least) {
    forecast.interval =
        fmt::format("no interval: only {} forecasts of held-out rows to take errors from", count_);
    return forecast;
  }
  // Error i of output q of held-out forecast k.
  const auto error = [&](size_t k, size_t q, size_t i) { return errors[(k * outputs + q) * values + i]; };
  const auto count = static_cast<size_t>(count_);
  size_t within = 0;
  if (by_quantiles) {
    forecast.low = output(0), forecast.high = output(outputs - 1);
    for (size_t k = 0; k < count; ++k)
      for (size_t i = 0; i < values; ++i) within += error(k, 0, i) <= 0 && error(k, outputs - 1, i) >= 0;
    forecast.interval = fmt::format("quantiles {:g} to {:g}", recipe.training.quantiles.front(),
                                    recipe.training.quantiles.back());
  } else {
    for (size_t i = 0; i < values; ++i) {
      double squares = 0;
      for (size_t k = 0; k < count; ++k) squares += error(k, middle, i) * error(k, middle, i);
      const double half = of_80_percent * std::sqrt(squares / static_cast<double>(count_));
      for (size_t k = 0; k < count; ++k) within += std::abs(error(k, middle, i)) <= half;
      forecast.low.push_back(forecast.values[i] - half);
      forecast.high.push_back(forecast.values[i] + half);
    }
    forecast.interval = fmt::format("80 %, from the errors of {} forecasts of held-out rows", count_);
  }
  if (count_ > 0)
    forecast.interval += fmt::format("; of the values of {} such forecasts {:.0f} % lay within", count_,
                                     100 * static_cast<double>(within) / static_cast<double>(count * values));
  return forecast;
}

Chart chart_of(const Forecaster& forecaster, const Forecast& forecast, int target) {
  const Series& series = forecaster.series();
  const int channel = forecaster.targets()[static_cast<size_t>(target)];
  const int64_t history = std::min<int64_t>(std::max(2 * forecaster.steps(), 48), forecast.origin),
                first = forecast.origin - history;
  const auto count = forecaster.targets().size();
  Chart chart{.title = "Forecast of " + series.channels[static_cast<size_t>(channel)],
              .description = forecast.interval,
              .x_name = "time",
              .y_name = series.channels[static_cast<size_t>(channel)],
              .from_zero = false,
              .series = {{.name = "history"}, {.name = "forecast"}}};
  for (int64_t row = first; row < forecast.origin + forecaster.steps(); ++row) {
    chart.x_texts.push_back(series.times.text(row));
    if (row >= std::min(forecast.origin, forecaster.rows())) continue;
    chart.series[0].x.push_back(static_cast<double>(row - first));
    chart.series[0].y.push_back(series.at(row, channel));
  }
  if (!forecast.low.empty()) chart.band = {.name = "interval"};
  for (int step = 0; step < forecaster.steps(); ++step) {
    const size_t at = static_cast<size_t>(step) * count + static_cast<size_t>(target);
    const auto x = static_cast<double>(history + step);
    chart.series[1].x.push_back(x);
    chart.series[1].y.push_back(forecast.values[at]);
    if (!chart.band) continue;
    chart.band->x.push_back(x);
    chart.band->low.push_back(forecast.low[at]);
    chart.band->high.push_back(forecast.high[at]);
  }
  if (forecast.origin >= forecaster.rows()) return chart;
  // Between history and forecast, so that the forecast lies above it.
  ChartSeries truth{.name = "truth"};
  for (int64_t row = forecast.origin;
       row < std::min<int64_t>(forecast.origin + forecaster.steps(), forecaster.rows()); ++row) {
    truth.x.push_back(static_cast<double>(row - first));
    truth.y.push_back(series.at(row, channel));
  }
  chart.series.insert(chart.series.begin() + 1, truth);
  return chart;
}

}  // namespace timeseries
