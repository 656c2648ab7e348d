// How good forecasts are: errors of all windows, by step of the horizon, by channel, and overall.
//
// A window counts as often as it is added, each of its predictions once, but none of a value that was filled in. "Scaled"
// errors are in units of the scaling, the others in those of the file. A score that is not defined is NaN. Of several series
// in one file each counts in units of its own, and all forecasts alike; MASE leaves out series whose seasonal naive forecast
// made no error in training, or that have none there.
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
  double smape = 0;  // mean of 200 |f - y| / (|f| + |y|), in percent; 0 where both are 0
  double mase = 0;   // mean absolute error over that of the seasonal naive forecast in training (Hyndman and
                     // Koehler 2006), channel by channel; NaN where that one makes no error
  // Predictions that have an interval, of which the next three are; they are NaN if there is none.
  int64_t intervals = 0;
  double coverage = 0;  // share of the values that lie within
  // Mean of the width, and 2 / (1 - level) times the distance of what lies outside (Winkler 1972).
  double scaled_winkler = 0;
  // Mean quantile loss of the lower end, the forecast as the median, and the upper end.
  double scaled_pinball = 0;
  // Twice the mean quantile loss of the deciles 0.1, …, 0.9: the continuous ranked probability score, but for what lies between
  // and beyond them (Gneiting and Ranjan 2011). NaN unless each of those predictions has all of them.
  double scaled_crps = 0;
};

// The intervals of predictions, of their shape and in original units. NaN: this one has none.
struct ForecastEnds {
  std::span<const double> low = {}, high = {};
  double level = 0.8;                    // share of the values that they are meant to hold
  std::span<const double> deciles = {};  // [their shape, 9]; empty: not known
};

class ForecastScores {
 public:
  // `mase_scale`: [series, targets], from mase_scale() below; empty: mase is NaN. The windows must outlive the
  // scores.
  ForecastScores(const SeriesWindows& windows, std::vector<double> mase_scale = {});

  // Predictions of the windows with these origins, [horizon, origins, targets]: scaled as in the windows'
  // batches, or in original units. Error for a size that does not fit; a prediction that is not finite makes
  // its errors so.
  void add_scaled(std::span<const int64_t> origins, std::span<const real> predictions);
  void add(std::span<const int64_t> origins, std::span<const double> predictions,
           const ForecastEnds& ends = {});

  ForecastErrors overall() const;
  ForecastErrors at_step(int step) const;  // 0 is the first row predicted
  ForecastErrors of_target(int target) const;
  ForecastErrors at(int step, int target) const;
  // Of one of several series, all steps and targets.
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
    double within = 0, winkler = 0, pinball = 0, crps = 0;
    void add_interval(double truth, double forecast, const ForecastEnds& ends, std::size_t i, double scale);
    void add(const Sums& other);
    ForecastErrors errors() const;
  };
  template <class Value>  // value(i, place) is prediction i in original units; Scaling::place()
  void add_all(std::span<const int64_t> origins, Value value, const ForecastEnds& ends = {});
  ForecastErrors sum(int step_begin, int step_end, int target_begin, int target_end) const;
  const SeriesWindows* source_;
  std::vector<double> mase_scale_;
  std::vector<Sums> sums_;       // [horizon, targets]
  std::vector<Sums> of_member_;  // of several series
  int64_t windows_ = 0;
};

// Mean |y[t] - y[t - period]| over the rows of a part where both are observed, [series, targets], in original units; 0 where it
// is constant, NaN where it has no two such rows.
std::vector<double> mase_scale(const Series& series, const Part& train, int64_t period,
                               std::span<const int> targets);

}  // namespace unroll
