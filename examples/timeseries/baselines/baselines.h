// The baselines that a model has to beat, on the same windows and scored by the same code. They read values that were
// filled in, as a model does, and learn from no such target.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "examples/timeseries/series/detection_scores.h"
#include "examples/timeseries/series/forecast_scores.h"
#include "examples/timeseries/series/series.h"
#include "examples/timeseries/series/series_windows.h"
#include "examples/timeseries/series/split.h"

namespace unroll {

// --- forecasts, in original units --------------------------------------------------------------------------

struct ForecastBaseline {
  std::string name;     // as tables print it: "seasonal naive (24)"
  int64_t history = 0;  // rows it needs before the first one that it predicts
  // Writes rows origin, origin + 1, … of a channel. Reads no row from `origin` on.
  std::function<void(const Series& series, int64_t origin, int channel, std::span<double> forecast)> forecast;
  std::string detail = {};  // what was fitted to which rows, for a note; empty: nothing was
};

ForecastBaseline last_value();
// The value one period before, or as many as it takes to be known. InputError for a period below 1.
ForecastBaseline seasonal_naive(int64_t period);
// As above, times the growth over a period: the sum of the last g values over that of the g values one period
// before them, g the smaller of horizon and period, however many steps are forecast. Growth over a sum of 0 is 1.
ForecastBaseline seasonal_growth(int64_t period, int64_t horizon);
// The last value, and a step for each row: the mean of the steps from the first row to the last.
ForecastBaseline drift();
// The mean of what is observed of the training part; NaN for a channel of which nothing is.
ForecastBaseline training_mean(const Series& series, const Part& train);
// y[t] = a0 + Σ a_k y[t - k], k = 1 … order, by least squares on the training part, each channel for itself;
// iterated over the horizon. Rows whose y[t] was filled in are left out. InputError if the part has too few others.
ForecastBaseline autoregression(const Series& series, const Part& train, int order,
                                std::span<const int> targets);

// Each row of a horizon by a ridge regression of its own (Hoerl and Kennard 1970) on the window, less the window's last value,
// and on the first three waves of each period above 1. The penalty is the one of seven by which the last fifth of the training
// part is forecast best from the rest; beyond the horizon it goes on from its own forecasts. None: fewer than 10 windows
// without a filled-in target, or a channel that does not change.
std::optional<ForecastBaseline> ridge(const Series& series, const Part& train, int window, int horizon,
                                      const std::vector<int64_t>& periods, std::span<const int> targets);

// Exponential smoothing, of each channel the form of least AICc (ets.h); and the Theta method (theta.h). Fitted to the training
// part's longest span, of it to the last 4,000 rows or 20 periods: the states go on over later rows, the parameters stay. None:
// too few rows. The series must not change between two forecasts.
std::optional<ForecastBaseline> ets(const Series& series, const Part& train, int64_t period,
                                    std::span<const int> targets);
std::optional<ForecastBaseline> theta(const Series& series, const Part& train, int64_t period,
                                      std::span<const int> targets);

// Tells forecasts that explode: they leave by far what their targets have been.
class RangeSoFar {
 public:
  // True if a value of the forecasts [steps, targets] of rows origin, … is not finite, or lies too far outside of its target's rows
  // before the origin: by more than 3 (1 + steps / these rows) times their range. Rows that are all equal have no range, and any
  // finite value is near them.
  bool is_left_by(std::span<const double> forecast, const Series& series, int64_t origin,
                  std::span<const int> targets);

 private:
  int64_t begin_ = 0, end_ = 0;       // the rows looked at; of the next origin in time only those since
  std::vector<double> least_, most_;  // by target
};

// Whether, of each target, more observed rows have `order` rows before them in their span than there are coefficients to
// find.
bool can_fit_autoregression(const Series& series, const Part& train, int order, std::span<const int> targets);

// Forecasts [horizon, targets] of all windows in their present order, each from the last row that the window reads. False, and
// no more of them, where one has fewer rows up to there than the baseline needs. Throws Interrupted after a signal.
bool for_each_forecast(const ForecastBaseline& baseline, const SeriesWindows& windows,
                       const std::function<void(int64_t origin, const std::vector<double>& forecast)>& use);
// Scores them. None: a window has too few rows.
std::optional<ForecastScores> score(const ForecastBaseline& baseline, const SeriesWindows& windows,
                                    const std::vector<double>& mase_scale = {});

// --- detection ---------------------------------------------------------------------------------------------

// Each learns from the same windows as a model, and looks at the last row of a window only.
struct DetectionBaseline {
  std::string name;
  // The probability of label 1 in row `origin`, from the channels of row `last`, the last one that the window reads.
  std::function<double(const Series& series, int64_t origin, int64_t last)> probability;
};

// The share of label 1 in training, for every row.
DetectionBaseline majority_class(const SeriesWindows& train);
// "channel > value", or "<", or "always" either label: the one that is right most often in training. 0 or 1.
DetectionBaseline threshold_baseline(const SeriesWindows& train);
// Logistic regression on the channels, standardised; Newton's method, with the penalty ½ |w|² on the sum of
// the log losses (the bias free).
DetectionBaseline logistic_regression(const SeriesWindows& train);
// The label one row before: knows what no detector is told, and shows how seldom it changes. It has none for
// the first row of a series, where it says 0.
DetectionBaseline previous_label(const SeriesWindows& train);

// For all windows; the horizon must be 1 and the target a label.
DetectionScores score(const DetectionBaseline& baseline, const SeriesWindows& windows);
// The labels of the windows, in their present order.
std::vector<int> window_labels(const SeriesWindows& windows);

}  // namespace unroll
