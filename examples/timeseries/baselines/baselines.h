// The baselines that a model has to beat, on the same windows and scored by the same code. Like a model, they read
// filled-in values, but do not learn from filled-in targets.
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
  std::string name;     // in tables: "seasonal naive (24)"
  int64_t history = 0;  // rows needed before the first predicted one
  // Writes the forecast of a channel's rows from `origin` on. Reads only rows before `origin`.
  std::function<void(const Series& series, int64_t origin, int channel, std::span<double> forecast)> forecast;
  std::string detail = {};  // for a note: what was fitted to which rows; empty: nothing
};

ForecastBaseline last_value();
// The value one period before the row, or as many periods as needed to be known. Throws InputError: a period below 1.
ForecastBaseline seasonal_naive(int64_t period);
// The seasonal naive forecast times the growth over a period: the sum of the last g values over the sum of the g values
// one period earlier. g is the smaller of horizon and period, however many steps are forecast. A sum of 0 gives growth
// 1.
ForecastBaseline seasonal_growth(int64_t period, int64_t horizon);
// The last value plus one step for each row: the mean step from the first row to the last.
ForecastBaseline drift();
// The mean of the channel's observed training values; NaN if it has none.
ForecastBaseline training_mean(const Series& series, const Part& train);
// y[t] = a0 + Σ a_k y[t - k], k = 1 … order, fitted by least squares on the training part, for each channel separately;
// iterated over the horizon. Rows whose y[t] was filled in are left out. Throws InputError if too few others remain.
ForecastBaseline autoregression(const Series& series, const Part& train, int order,
                                std::span<const int> targets);

// Ridge regression (Hoerl and Kennard 1970) for each row of the horizon. It reads the window minus the window's
// last value, and the first three harmonics of each period above 1. The penalty is one of seven: the one that
// forecasts the last fifth of the training part best from the rest. Beyond the horizon it goes on from its own
// forecasts. None: fewer than 10 windows without a filled-in target, or a channel that does not change.
std::optional<ForecastBaseline> ridge(const Series& series, const Part& train, int window, int horizon,
                                      const std::vector<int64_t>& periods, std::span<const int> targets);

// Exponential smoothing, for each channel the form with the least AICc (ets.h); and the Theta method (theta.h). Both
// are fitted to the last rows of the training part's longest span: 4,000, or 20 periods if more. Their states follow
// later rows, their parameters stay. None: too few rows. Requires: the series does not change between two forecasts.
std::optional<ForecastBaseline> ets(const Series& series, const Part& train, int64_t period,
                                    std::span<const int> targets);
std::optional<ForecastBaseline> theta(const Series& series, const Part& train, int64_t period,
                                      std::span<const int> targets);

// Detects forecasts that explode: they go far outside the range of their targets.
class RangeSoFar {
 public:
  // Whether a value of a forecast [steps, targets], first row `origin`, is not finite or too far outside the range
  // of its target's n rows before the origin: by more than 3 (1 + steps / n) times that range. If those rows are
  // all equal, any finite value is near enough.
  bool is_left_by(std::span<const double> forecast, const Series& series, int64_t origin,
                  std::span<const int> targets);

 private:
  int64_t begin_ = 0, end_ = 0;       // rows seen so far; a later origin adds only the new ones
  std::vector<double> least_, most_;  // by target
};

// Whether each target has more observed rows with `order` rows before them in their span than coefficients to fit.
bool can_fit_autoregression(const Series& series, const Part& train, int order, std::span<const int> targets);

// Calls `use` with a forecast [horizon, targets] for each window in the current order, from the last row that the
// window reads. Returns false, and stops, at a window with too few rows before it. Throws Interrupted after a signal.
bool for_each_forecast(const ForecastBaseline& baseline, const SeriesWindows& windows,
                       const std::function<void(int64_t origin, const std::vector<double>& forecast)>& use);
// Scores the forecasts. None: a window has too few rows.
std::optional<ForecastScores> score(const ForecastBaseline& baseline, const SeriesWindows& windows,
                                    const std::vector<double>& mase_scale = {});

// --- detection ---------------------------------------------------------------------------------------------

// A baseline learns from the same windows as a model, but looks only at a window's last row.
struct DetectionBaseline {
  std::string name;
  // The probability of label 1 in row `origin`, from the channels of row `last`, the last row that the window reads.
  std::function<double(const Series& series, int64_t origin, int64_t last)> probability;
};

// The share of label 1 in training, for every row.
DetectionBaseline majority_class(const SeriesWindows& train);
// The rule that is most often right in training: "channel > value", "channel < value" or "always" a label; 0 or 1.
DetectionBaseline threshold_baseline(const SeriesWindows& train);
// Logistic regression on standardised channels by Newton's method; ½ |w|² (without bias) is added to the summed log
// loss.
DetectionBaseline logistic_regression(const SeriesWindows& train);
// The label of the previous row. It knows what no detector is told, and shows how seldom the label changes. For the
// first row of a series it says 0.
DetectionBaseline previous_label(const SeriesWindows& train);

// Scores all windows. Requires: horizon 1, and a label as the target.
DetectionScores score(const DetectionBaseline& baseline, const SeriesWindows& windows);
// The windows' labels, in their current order.
std::vector<int> window_labels(const SeriesWindows& windows);

}  // namespace unroll
