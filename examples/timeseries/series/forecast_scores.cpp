// See forecast_scores.h.
#include "examples/timeseries/series/forecast_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "framework/check.h"

namespace unroll {

ForecastScores::ForecastScores(const SeriesWindows& windows, std::vector<double> mase_scale)
    : source_(&windows), mase_scale_(std::move(mase_scale)) {
  const std::size_t targets = windows.options().targets.size();
  const auto members = static_cast<std::size_t>(windows.series().count());
  if (mase_scale_.empty()) mase_scale_.assign(targets * members, 0);
  require(mase_scale_.size() == targets * members, "scores: {} scales for {} targets of {} series",
          mase_scale_.size(), targets, members);
  if (!windows.series().members.empty()) of_member_.resize(members);
  sums_.resize(static_cast<std::size_t>(windows.options().horizon) * targets);
}

void ForecastScores::Sums::add(const Sums& other) {
  count += other.count, with_mase += other.with_mase, intervals += other.intervals;
  for (double Sums::*sum : {&Sums::scaled_square, &Sums::scaled_absolute, &Sums::square, &Sums::absolute,
                            &Sums::symmetric, &Sums::mase, &Sums::within, &Sums::winkler, &Sums::pinball})
    this->*sum += other.*sum;
}

void ForecastScores::Sums::add_interval(double truth, double forecast, const ForecastEnds& ends,
                                        std::size_t i, double scale) {
  const double low = ends.low[i], high = ends.high[i];
  if (!std::isfinite(low) || !std::isfinite(high)) return;
  const double under = std::max(low - truth, 0.0), over = std::max(truth - high, 0.0);
  const auto loss = [&](double q, double quantile) {
    return truth >= quantile ? q * (truth - quantile) : (1 - q) * (quantile - truth);
  };
  ++intervals;
  within += under == 0 && over == 0;
  winkler += (high - low + under / ends.below + over / ends.above) / scale;
  pinball += (loss(ends.below, low) + loss(0.5, forecast) + loss(1 - ends.above, high)) / 3 / scale;
}

ForecastErrors ForecastScores::Sums::errors() const {
  const double n = static_cast<double>(count);  // 0 / 0 is NaN: not defined
  const double of_intervals = static_cast<double>(intervals);
  return {.count = count,
          .scaled_mse = scaled_square / n,
          .scaled_mae = scaled_absolute / n,
          .mse = square / n,
          .mae = absolute / n,
          .rmse = std::sqrt(square / n),
          .smape = symmetric / n,
          .mase = mase / static_cast<double>(with_mase),
          .intervals = intervals,
          .coverage = within / of_intervals,
          .scaled_winkler = winkler / of_intervals,
          .scaled_pinball = pinball / of_intervals};
}

void ForecastScores::add(std::span<const int64_t> origins, std::span<const double> predictions,
                         const ForecastEnds& ends) {
  require(predictions.size() == origins.size() * sums_.size(), "scores: {} predictions for {} windows of {}",
          predictions.size(), origins.size(), sums_.size());
  require(ends.low.size() == ends.high.size() && (ends.low.empty() || ends.low.size() == predictions.size()),
          "scores: intervals of {} and {} ends for {} predictions", ends.low.size(), ends.high.size(),
          predictions.size());
  const Series& series = source_->series();
  const Scaling& scaling = source_->scaling();
  const int horizon = source_->options().horizon;
  const std::vector<int>& targets = source_->options().targets;
  std::size_t i = 0;
  for (int step = 0; step < horizon; ++step) {
    for (const int64_t origin : origins) {
      const int member = series.member_of(origin), base = scaling.place(0, member);
      require(origin >= 0 && origin + step < series.rows(), "scores: no row {} to compare with",
              origin + step);
      for (std::size_t t = 0; t < targets.size(); ++t, ++i) {
        const int channel = targets[t];
        if (series.is_filled(origin + step, channel)) continue;
        const double truth = series.at(origin + step, channel), forecast = predictions[i];
        const double error = forecast - truth;
        const double scale = scaling.at(base + channel).scale;
        const double scaled = error / scale;
        const double size = std::abs(forecast) + std::abs(truth);
        const double naive = mase_scale_[static_cast<std::size_t>(member) * targets.size() + t];
        const bool has_mase = naive > 0 || of_member_.empty();
        Sums one{.count = 1,
                 .scaled_square = scaled * scaled,
                 .scaled_absolute = std::abs(scaled),
                 .square = error * error,
                 .absolute = std::abs(error),
                 .symmetric = size == 0 ? 0 : 200 * std::abs(error) / size,
                 .mase = naive > 0   ? std::abs(error) / naive
                         : !has_mase ? 0
                                     : std::numeric_limits<double>::quiet_NaN(),
                 .with_mase = has_mase};
        if (!ends.low.empty()) one.add_interval(truth, forecast, ends, i, scale);
        sums_[static_cast<std::size_t>(step) * targets.size() + t].add(one);
        if (!of_member_.empty()) of_member_[member].add(one);
      }
    }
  }
  windows_ += static_cast<int64_t>(origins.size());
}

ForecastErrors ForecastScores::sum(int step_begin, int step_end, int target_begin, int target_end) const {
  require(0 <= step_begin && step_end <= horizon() && 0 <= target_begin && target_end <= targets(),
          "scores: no such step or target");
  Sums sums;
  for (int step = step_begin; step < step_end; ++step) {
    for (int target = target_begin; target < target_end; ++target) sums.add(sums_[step * targets() + target]);
  }
  return sums.errors();
}

ForecastErrors ForecastScores::of_member(int member) const { return of_member_.at(member).errors(); }

ForecastErrors ForecastScores::overall() const { return sum(0, horizon(), 0, targets()); }
ForecastErrors ForecastScores::at_step(int step) const { return sum(step, step + 1, 0, targets()); }
ForecastErrors ForecastScores::of_target(int target) const { return sum(0, horizon(), target, target + 1); }
ForecastErrors ForecastScores::at(int step, int target) const {
  return sum(step, step + 1, target, target + 1);
}

std::vector<double> mase_scale(const Series& series, const Part& train, int64_t period,
                               std::span<const int> targets) {
  require_input(period >= 1, "mase: a period is at least 1, not {}", period);
  std::vector<double> result;
  std::vector<double> sums(targets.size()), counts(targets.size());
  for (int member = 0; member < series.count(); ++member) {
    const Part part =
        series.members.empty() ? train : within(train, series.begin_of(member), series.end_of(member));
    std::ranges::fill(sums, 0), std::ranges::fill(counts, 0);
    for (const Span& span : part)  // row by row: a row of a long file is far from the next
      for (int64_t row = span.begin + period; row < span.end; ++row)
        for (std::size_t t = 0; t < targets.size(); ++t) {
          const int channel = targets[t];
          if (series.is_filled(row, channel) || series.is_filled(row - period, channel)) continue;
          sums[t] += std::abs(series.at(row, channel) - series.at(row - period, channel));
          ++counts[t];
        }
    for (std::size_t t = 0; t < targets.size(); ++t) result.push_back(sums[t] / counts[t]);
  }
  return result;
}

}  // namespace unroll
