// The forecasts of baselines.h.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "examples/timeseries/baselines/baselines.h"
#include "framework/check.h"
#include "framework/signals.h"

namespace unroll {
namespace {

void require_period(int64_t period) {
  require_input(period >= 1 && period <= 1'000'000'000, "baselines: a period of {} rows is not in [1, 1e9]",
                period);
}

double sum_of(const Series& series, int64_t begin, int64_t end, int channel) {
  double sum = 0;
  for (int64_t row = begin; row < end; ++row) sum += series.at(row, channel);
  return sum;
}

void repeat_season(const Series& series, int64_t origin, int channel, int64_t period,
                   std::span<double> forecast) {
  for (std::size_t h = 0; h < forecast.size(); ++h)
    forecast[h] = series.at(origin - period + static_cast<int64_t>(h) % period, channel);
}

}  // namespace

ForecastBaseline last_value() {
  return {"last value", 1, [](const Series& series, int64_t origin, int channel, std::span<double> forecast) {
            std::fill(forecast.begin(), forecast.end(), series.at(origin - 1, channel));
          }};
}

ForecastBaseline seasonal_naive(int64_t period) {
  require_period(period);
  return {fmt::format("seasonal naive ({})", period), period,
          [=](const Series& series, int64_t origin, int channel, std::span<double> forecast) {
            repeat_season(series, origin, channel, period, forecast);
          }};
}

ForecastBaseline seasonal_growth(int64_t period, int64_t horizon) {
  require_period(period);
  const int64_t g = std::min(horizon, period);
  return {fmt::format("seasonal naive ({}) times growth", period), period + g,
          [=](const Series& series, int64_t origin, int channel, std::span<double> forecast) {
            const double before = sum_of(series, origin - period - g, origin - period, channel);
            const double growth = before == 0 ? 1 : sum_of(series, origin - g, origin, channel) / before;
            repeat_season(series, origin, channel, period, forecast);
            for (double& value : forecast) value *= growth;
          }};
}

ForecastBaseline drift() {
  return {"drift", 2, [](const Series& series, int64_t origin, int channel, std::span<double> forecast) {
            const double last = series.at(origin - 1, channel);
            const double step = (last - series.at(0, channel)) / static_cast<double>(origin - 1);
            for (std::size_t h = 0; h < forecast.size(); ++h)
              forecast[h] = last + step * static_cast<double>(h + 1);
          }};
}

ForecastBaseline training_mean(const Series& series, const Part& train) {
  std::vector<double> means;
  for (int channel = 0; channel < series.width(); ++channel) {
    double sum = 0, count = 0;
    for (const Span& span : train)
      for (int64_t row = span.begin; row < span.end; ++row)
        if (!series.is_filled(row, channel)) sum += series.at(row, channel), ++count;
    means.push_back(sum / count);
  }
  return {"mean of training", 0, [=](const Series&, int64_t, int channel, std::span<double> forecast) {
            std::fill(forecast.begin(), forecast.end(), means[channel]);
          }};
}

// --- the table ---------------------------------------------------------------------------------------------

int64_t lag_of(const BaselineKeys& keys, int64_t BaselineKeys::*period) {
  const int64_t rows = keys.*period, whole = (rows + keys.period / 2) / keys.period * keys.period;
  return 100 * std::abs(whole - rows) <= rows ? whole : rows;
}

bool BaselineRows::are_positive() const {
  for (int64_t row = 0; row < known; ++row)
    for (const int channel : targets)
      if (series.at(row, channel) <= 0) return false;
  return true;
}

std::string ForecastBaselineRow::missing(const BaselineKeys& keys) const {
  if (needs == Needs::season && keys.period == 1) return "data.period = 1 has no season";
  if (needs == Needs::second_season && keys.second_period <= 1)
    return fmt::format("data.second_period = {} has no season", keys.second_period);
  return "";
}

const ForecastBaselineRow* baseline_row(std::string_view word) {
  const auto found = std::ranges::find(forecast_baselines, word, &ForecastBaselineRow::word);
  return found == std::end(forecast_baselines) ? nullptr : found;
}

std::vector<ForecastBaseline> baselines_of(const BaselineRows& rows, std::vector<std::string>& left_out) {
  std::vector<ForecastBaseline> baselines;
  for (const ForecastBaselineRow& row : forecast_baselines) {
    if (!row.is_in_tables(rows.keys)) continue;
    if (auto baseline = row.make(rows))
      baselines.push_back(std::move(*baseline));
    else
      left_out.emplace_back(row.left_out);
  }
  return baselines;
}

RangeBefore::RangeBefore(const Series& series, int64_t origin, int channel)
    : least_(std::numeric_limits<double>::infinity()), most_(-least_), rows_(0) {
  for (int64_t row = series.begin_of(series.member_of(origin - 1)); row < origin; ++row, ++rows_) {
    least_ = std::min(least_, series.at(row, channel));
    most_ = std::max(most_, series.at(row, channel));
  }
}

bool RangeBefore::is_left_by(std::span<const double> forecast) const {
  constexpr double far = 3;
  const double by = far * (1 + static_cast<double>(forecast.size()) / rows_);
  return std::ranges::any_of(forecast, [&](double value) {
    const double outside = std::max(least_ - value, value - most_);
    return !std::isfinite(value) || (most_ > least_ && outside > by * (most_ - least_));
  });
}

bool for_each_forecast(const ForecastBaseline& baseline, const SeriesWindows& windows,
                       const std::function<void(int64_t origin, const std::vector<double>& forecast)>& use) {
  const std::vector<int>& targets = windows.options().targets;
  require(windows.options().lead == 1, "baselines: a window that reads what it predicts needs no forecast");
  const std::span<const int64_t> origins = windows.origins();
  std::vector<double> forecast(static_cast<std::size_t>(windows.options().horizon)),
      all(forecast.size() * targets.size());
  constexpr std::size_t most_together = 256;
  for (std::size_t w = 0; w < origins.size(); ++w) {
    stop_if_signalled();
    if (origins[w] < baseline.history) return false;
    if (baseline.prepare && w % most_together == 0)
      for (const int target : targets)
        baseline.prepare(windows.series(), origins.subspan(w, std::min(most_together, origins.size() - w)),
                         target, forecast.size());
    for (std::size_t t = 0; t < targets.size(); ++t) {
      baseline.forecast(windows.series(), origins[w], targets[t], forecast);
      for (std::size_t h = 0; h < forecast.size(); ++h) all[h * targets.size() + t] = forecast[h];
    }
    use(origins[w], all);
  }
  return true;
}

}  // namespace unroll
