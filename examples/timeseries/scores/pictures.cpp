#include <algorithm>
#include <cmath>

#include "examples/timeseries/baselines/baselines.h"
#include "examples/timeseries/scores/scores.h"

namespace timeseries {

Chart chart_of_forecasts(const Series& series, const std::vector<int>& targets, size_t target, int64_t first,
                         int64_t known, const std::vector<WindowForecast>& forecasts,
                         const std::string& interval) {
  const int channel = targets[target];
  const int64_t end = forecasts.back().origin + std::ssize(forecasts.back().values) / std::ssize(targets);
  Chart chart{.title = {},
              .x_name = "time",
              .y_name = series.channels[channel],
              .from_zero = false,
              .series = {{.name = "history"}, {.name = "forecast"}}};
  for (int64_t row = first; row < end; ++row) {
    chart.x_texts.push_back(series.times.text(row));
    if (row >= known) continue;
    const bool filled = series.is_filled(row, channel);  // a gap in the line
    chart.series[0].x.push_back(static_cast<double>(row - first));
    chart.series[0].y.push_back(filled ? std::nan("") : series.at(row, channel));
  }
  ChartBand band{.name = interval};
  for (const WindowForecast& forecast : forecasts)
    for (size_t at = target; at < forecast.values.size(); at += targets.size()) {
      const auto x = static_cast<double>(forecast.origin - first + static_cast<int64_t>(at / targets.size()));
      chart.series[1].x.push_back(x), chart.series[1].y.push_back(forecast.values[at]);
      if (interval.empty() || std::isnan(forecast.low[at])) continue;
      band.x.push_back(x), band.low.push_back(forecast.low[at]), band.high.push_back(forecast.high[at]);
    }
  if (!band.x.empty()) chart.band = std::move(band);
  return chart;
}

namespace {

// Forecasts of the first target: the last ones side by side if the horizon is 1, else the last with the rows before it.
Chart forecast_chart(const TestPart& part, const Evaluation& evaluation) {
  const Recipe& recipe = evaluation.recipe;
  const Series& series = part.windows.series();
  const auto& drawn = evaluation.drawn;
  const auto& interval = evaluation.interval;
  const int horizon = recipe.data.horizon, of = series.member_of(drawn.front().origin);
  const int64_t history = horizon == 1 ? 0 : std::max(recipe.data.window, 2 * horizon),
                first = std::max(series.begin_of(of), drawn.front().origin - history);
  Chart chart = chart_of_forecasts(series, evaluation.data.targets(), 0, first, drawn.back().origin + horizon,
                                   drawn, interval ? name_of(*interval, recipe) : "");
  const std::string member = series.name_of(of);
  chart.title =
      fmt::format("Forecasts of {}{}{}: {}", member, member.empty() ? "" : ": ", chart.y_name, part.name);
  chart.description =
      horizon == 1 ? fmt::format("The last {} forecasts of the part, each of a row from the rows before it.",
                                 drawn.size())
                   : "The last window, and the rows before it.";
  chart.series[0].name = "truth";
  if (interval) chart.description += fmt::format(" The interval: {}.", describe(*interval, recipe));
  return chart;
}

// The model and the best baselines, as many as can be told apart, in the table's order; and the others' names.
std::pair<std::vector<const ForecastRow*>, std::vector<std::string>> drawn_rows(
    const Evaluation& evaluation, const ForecastMeasure& measure) {
  std::vector<const ForecastRow*> order;
  for (const ForecastRow& row : evaluation.forecasts) order.push_back(&row);
  const auto error = [&](const ForecastRow* row) {
    const double value = row->scores.overall().*measure.value;
    return std::isnan(value) ? HUGE_VAL : value;
  };
  if (order.size() > series_styles)
    std::stable_sort(order.begin() + 1, order.end(), [&](auto* a, auto* b) { return error(a) < error(b); });
  std::vector<std::string> others;
  for (size_t k = series_styles; k < order.size(); ++k) others.push_back(order[k]->name);
  order.resize(std::min(order.size(), series_styles));
  std::sort(order.begin(), order.end());
  return {order, others};
}

Chart error_chart(const Evaluation& evaluation) {
  const ForecastMeasure& measure = summary_measure(evaluation.summed());
  const auto [drawn, others] = drawn_rows(evaluation, measure);
  Chart chart{
      .title = "Error by step: " + evaluation.part,
      .description = fmt::format(
          "{}; the model and the baselines{}.",
          evaluation.summed() > 1 ? "Mean square, in scaled units"
                                  : "Root of the mean square, in the file's unit",
          others.empty() ? "" : fmt::format(" that err least; not drawn: {}", fmt::join(others, ", "))),
      .x_name = "step",
      .y_name = measure.name,
      .x_from = 1};
  for (const ForecastRow* drawn_row : drawn) {
    const ForecastRow& row = *drawn_row;
    ChartSeries series{.name = row.name};
    for (int step = 0; step < row.scores.horizon(); ++step) {
      series.x.push_back(step + 1);
      series.y.push_back(row.scores.at_step(step).*measure.value);
    }
    chart.series.push_back(thinned(series, 600));
  }
  return chart;
}

}  // namespace

std::vector<Chart> pictures_of(const TestPart& part, const Evaluation& evaluation) {
  if (evaluation.detects()) return {};
  std::vector<Chart> charts = {forecast_chart(part, evaluation)};
  if (evaluation.recipe.data.horizon > 1) charts.push_back(error_chart(evaluation));
  return charts;
}

}  // namespace timeseries
