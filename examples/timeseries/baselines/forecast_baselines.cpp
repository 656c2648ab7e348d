// The forecasts of baselines.h.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "examples/timeseries/baselines/baselines.h"
#include "examples/timeseries/baselines/least_squares.h"
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

// Calls use(row) for each row of which an autoregression is fitted.
template <class Use>
void for_each_equation(const Series& series, const Part& train, int order, int channel, Use use) {
  for (const Span& span : train)
    for (int64_t row = span.begin + order; row < span.end; ++row)
      if (!series.is_filled(row, channel)) use(row);
}

// Fits y[t] = coefficients[0] + Σ coefficients[k] y[t - k] to one channel. It is fitted to distances from one of the values, since a
// level far above the spread would look like the column of ones. If rows are almost on a line but for one odd value, coefficients
// are in the thousands and forecasts explode: then the order is lower, and the other coefficients are 0.
std::vector<double> fit_autoregression(const Series& series, const Part& train, int order, int channel) {
  std::vector<double> x, y;
  const double level = train.empty() ? 0 : series.at(train.front().begin, channel);
  for_each_equation(series, train, order, channel, [&](int64_t row) {
    x.push_back(1);
    for (int k = 1; k <= order; ++k) x.push_back(series.at(row - k, channel) - level);
    y.push_back(series.at(row, channel) - level);
  });
  require_input(can_fit_autoregression(series, train, order, {&channel, 1}),
                "baselines: an autoregression of order {} needs {} training rows in a span, not {}{}", order,
                2 * order + 1, longest_span(train),
                series.filled.empty() ? "" : "; values that were filled in do not count");
  std::vector<double> coefficients = least_squares(x, y, order + 1);
  constexpr double most = 100;
  double sum = 0;
  for (std::size_t k = 1; k < coefficients.size(); ++k) sum += std::abs(coefficients[k]);
  if (sum > most && order > 1) {
    coefficients = fit_autoregression(series, train, order - 1, channel);
    coefficients.push_back(0);
    return coefficients;
  }
  double moved = level;
  for (int k = 1; k <= order; ++k) moved -= level * coefficients[k];
  coefficients[0] += moved;
  return coefficients;
}

}  // namespace

bool can_fit_autoregression(const Series& series, const Part& train, int order,
                            std::span<const int> targets) {
  return std::ranges::all_of(targets, [&](int channel) {
    int64_t equations = 0;
    for_each_equation(series, train, order, channel, [&](int64_t) { ++equations; });
    return equations > order;
  });
}

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

ForecastBaseline autoregression(const Series& series, const Part& train, int order,
                                std::span<const int> targets) {
  require_input(order >= 1, "baselines: an autoregression's order is at least 1, not {}", order);
  std::map<int, std::vector<double>> coefficients;
  for (const int channel : targets) coefficients[channel] = fit_autoregression(series, train, order, channel);
  return {fmt::format("autoregression ({})", order), order,
          [=](const Series& now, int64_t origin, int channel, std::span<double> forecast) {
            const std::vector<double>& a = coefficients.at(channel);
            for (int64_t h = 0; h < static_cast<int64_t>(forecast.size()); ++h) {
              double value = a[0];
              for (int64_t k = 1; k <= order; ++k)
                value += a[k] * (k <= h ? forecast[h - k] : now.at(origin + h - k, channel));
              forecast[h] = value;
            }
          }};
}

// --- the table ---------------------------------------------------------------------------------------------

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
  if (needs == Needs::order && keys.autoregression == 0) return "data.autoregression = 0 has no order";
  return "";
}

const std::vector<std::string>& baseline_words() {
  static const std::vector<std::string> words = [] {
    std::vector<std::string> all;
    for (const ForecastBaselineRow& row : forecast_baselines) all.emplace_back(row.word);
    return all;
  }();
  return words;
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

void require_order_fits(const BaselineRows& rows) {
  const int order = rows.keys.autoregression;
  require_input(order == 0 || can_fit_autoregression(rows.series, rows.train, order, rows.targets),
                "{}: data.autoregression = {} needs {} rows side by side that train, and there are {}{}",
                rows.series.origin, order, 2 * order + 1, longest_span(rows.train),
                rows.series.filled.empty() ? "" : "; values that were filled in do not count");
}

bool RangeSoFar::is_left_by(std::span<const double> forecast, const Series& series, int64_t origin,
                            std::span<const int> targets) {
  const int64_t begin = series.begin_of(series.member_of(origin - 1));
  if (begin != begin_ || origin < end_ || least_.size() != targets.size()) {
    begin_ = end_ = begin;
    least_.assign(targets.size(), std::numeric_limits<double>::infinity());
    most_.assign(targets.size(), -std::numeric_limits<double>::infinity());
  }
  for (; end_ < origin; ++end_)
    for (std::size_t t = 0; t < targets.size(); ++t) {
      least_[t] = std::min(least_[t], series.at(end_, targets[t]));
      most_[t] = std::max(most_[t], series.at(end_, targets[t]));
    }
  constexpr double far = 3;
  const double steps = static_cast<double>(forecast.size() / targets.size()),
               by = far * (1 + steps / static_cast<double>(origin - begin));
  for (std::size_t i = 0; i < forecast.size(); ++i) {
    const double least = least_[i % targets.size()], most = most_[i % targets.size()],
                 outside = std::max(least - forecast[i], forecast[i] - most);
    if (!std::isfinite(forecast[i]) || (most > least && outside > by * (most - least))) return true;
  }
  return false;
}

bool for_each_forecast(const ForecastBaseline& baseline, const SeriesWindows& windows,
                       const std::function<void(int64_t origin, const std::vector<double>& forecast)>& use) {
  const std::vector<int>& targets = windows.options().targets;
  const std::span<const int64_t> origins = windows.origins();
  std::vector<double> forecast(static_cast<std::size_t>(windows.options().horizon)),
      all(forecast.size() * targets.size());
  constexpr std::size_t most_together = 256;
  for (std::size_t w = 0; w < origins.size(); ++w) {
    stop_if_signalled();
    if (origins[w] < baseline.history) return false;
    if (baseline.prepare && w % most_together == 0)
      for (const int target : targets)
        baseline.prepare(windows.series(), origins.subspan(w, std::min(most_together, origins.size() - w)), target,
                         forecast.size());
    for (std::size_t t = 0; t < targets.size(); ++t) {
      baseline.forecast(windows.series(), origins[w], targets[t], forecast);
      for (std::size_t h = 0; h < forecast.size(); ++h) all[h * targets.size() + t] = forecast[h];
    }
    use(origins[w], all);
  }
  return true;
}

std::optional<ForecastScores> score(const ForecastBaseline& baseline, const SeriesWindows& windows,
                                    const std::vector<double>& mase_scale) {
  ForecastScores scores(windows, mase_scale);
  if (!for_each_forecast(baseline, windows, [&](int64_t origin, const std::vector<double>& forecast) {
        scores.add({&origin, 1}, forecast);
      }))
    return std::nullopt;
  return scores;
}

}  // namespace unroll
