// Errors of forecasts over all windows: overall, by step of the horizon, and by channel.
//
// A window counts as often as it is added, and each of its predictions once. Filled-in values do not count.
// "Scaled" errors are in units of the scaling, the others in units of the file. An undefined score is NaN. Several
// series in one file: each is scaled by its own scale, and all forecasts count alike. MASE then leaves out series
// whose seasonal naive forecast made no error in training, or had no rows there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "examples/timeseries/series/series_windows.h"

namespace unroll {

struct ForecastErrors {
  int64_t count = 0;  // predictions
  double scaled_mse = 0, scaled_mae = 0;
  double mse = 0, mae = 0, rmse = 0;
  double smape = 0;  // mean of 200 |f - y| / (|f| + |y|), in percent; 0 if both are 0
  double mase = 0;  // mean absolute error over the seasonal naive forecast's in training (Hyndman and Koehler
                    // 2006), by channel; NaN if that one makes no error
  // Predictions that have an interval. The next three cover only these; NaN if there are none.
  int64_t intervals = 0;
  double coverage = 0;  // share of values within the interval
  // Mean of the width plus the distance of values outside, over the share that should lie on that side (Winkler 1972).
  double scaled_winkler = 0;
  // Mean quantile loss of the lower end, the forecast as the median, and the upper end.
  double scaled_pinball = 0;
};

// Intervals in the predictions' shape, in original units. NaN: the prediction has none.
struct ForecastEnds {
  std::span<const double> low = {}, high = {};
  double below = 0.1, above = 0.1;  // shares of values that should lie outside
};

class ForecastScores {
 public:
  // `mase_scale`: [series, targets], from mase_scale() below; empty: MASE is NaN. Requires: the windows outlive it.
  ForecastScores(const SeriesWindows& windows, std::vector<double> mase_scale = {});

  // Adds predictions [horizon, origins, targets] of the windows with these origins, in original units. One that is not
  // finite makes its errors so. Throws Error if the size does not fit.
  void add(std::span<const int64_t> origins, std::span<const double> predictions,
           const ForecastEnds& ends = {});

  ForecastErrors overall() const;
  ForecastErrors at_step(int step) const;  // 0 is the first row predicted
  ForecastErrors of_target(int target) const;
  ForecastErrors at(int step, int target) const;
  // One of several series, over all steps and targets.
  ForecastErrors of_member(int member) const;
  int64_t windows() const { return windows_; }
  int horizon() const { return source_->options().horizon; }
  int targets() const { return static_cast<int>(source_->options().targets.size()); }

 private:
  struct Sums {
    int64_t count = 0;
    double scaled_square = 0, scaled_absolute = 0, square = 0, absolute = 0, symmetric = 0, mase = 0;
    int64_t with_mase = 0;  // predictions
    int64_t intervals = 0;
    double within = 0, winkler = 0, pinball = 0;
    void add_interval(double truth, double forecast, const ForecastEnds& ends, std::size_t i, double scale);
    void add(const Sums& other);
    ForecastErrors errors() const;
  };
  ForecastErrors sum(int step_begin, int step_end, int target_begin, int target_end) const;
  const SeriesWindows* source_;
  std::vector<double> mase_scale_;
  std::vector<Sums> sums_;  // [horizon, targets]
  std::vector<Sums> of_member_;
  int64_t windows_ = 0;
};

// Mean |y[t] - y[t - period]| over the rows of a part where both are observed, [series, targets], in original
// units. 0: the channel repeats its season. NaN: no two such rows.
std::vector<double> mase_scale(const Series& series, const Part& train, int64_t period,
                               std::span<const int> targets);

}  // namespace unroll
