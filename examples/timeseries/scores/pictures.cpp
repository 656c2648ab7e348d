#include <algorithm>
#include <cmath>

#include "examples/timeseries/baselines/baselines.h"
#include "examples/timeseries/scores/scores.h"

namespace timeseries {

Chart chart_of_rows(const Series& series, int channel, int64_t first, int64_t known, int64_t end) {
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
  return chart;
}

void draw_forecast(Chart& chart, int64_t first, const WindowForecast& forecast, size_t targets,
                   size_t target) {
  for (size_t at = target; at < forecast.values.size(); at += targets) {
    const auto x = static_cast<double>(forecast.origin - first + static_cast<int64_t>(at / targets));
    chart.series[1].x.push_back(x), chart.series[1].y.push_back(forecast.values[at]);
    if (!chart.band || std::isnan(forecast.low[at])) continue;
    chart.band->x.push_back(x);
    chart.band->low.push_back(forecast.low[at]), chart.band->high.push_back(forecast.high[at]);
  }
}

namespace {

// Forecasts of the first target: the last ones side by side if the horizon is 1, else the last with the rows before it.
Chart forecast_chart(const Recipe& recipe, const SeriesData& data, const TestPart& part,
                     const Evaluation& evaluation) {
  const Series& series = part.windows.series();
  const auto& interval = evaluation.interval;
  const int channel = data.targets()[0], horizon = recipe.data.horizon;
  const int64_t origin = evaluation.drawn.front().origin, begin = series.begin_of(series.member_of(origin)),
                history = horizon == 1 ? 0 : std::max(recipe.data.window, 2 * horizon),
                first = std::max(begin, origin - history);
  const std::string member = series.name_of(series.member_of(origin));
  const int64_t end = evaluation.drawn.back().origin + horizon;
  Chart chart = chart_of_rows(series, channel, first, end, end);
  chart.title =
      fmt::format("Forecasts of {}{}{}: {}", member, member.empty() ? "" : ": ", chart.y_name, part.name);
  chart.description =
      horizon == 1 ? fmt::format("The last {} forecasts of the part, each of a row from the rows before it.",
                                 evaluation.drawn.size())
                   : "The last window, and the rows before it.";
  chart.series[0].name = "truth";
  if (interval) {
    chart.band = {.name = name_of(*interval, recipe)};
    chart.description += fmt::format(" The interval: {}.", describe(*interval, recipe));
  }
  for (const WindowForecast& forecast : evaluation.drawn)
    draw_forecast(chart, first, forecast, data.targets().size(), 0);
  if (chart.band && chart.band->x.empty()) chart.band.reset();
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
    for (int step = 0; step < evaluation.horizon; ++step) {
      series.x.push_back(step + 1);
      series.y.push_back(row.scores.at_step(step).*measure.value);
    }
    chart.series.push_back(thinned(series, 600));
  }
  return chart;
}

}  // namespace

std::vector<Chart> pictures_of(const Recipe& recipe, const SeriesData& data, const TestPart& part,
                               const Evaluation& evaluation) {
  if (evaluation.detects()) return {};
  std::vector<Chart> charts = {forecast_chart(recipe, data, part, evaluation)};
  if (evaluation.horizon > 1) charts.push_back(error_chart(evaluation));
  return charts;
}

}  // namespace timeseries
