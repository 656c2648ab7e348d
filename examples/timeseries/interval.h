// The interval around a model's forecasts: one definition for all commands, tables and pictures.
//
// Of a model with quantiles it lies between the outer ones. Else it is meant for 80 % of the values: at each step of the
// horizon 1.28 times the root mean square error of the forecasts of the validation split, as if errors were normal. The
// weights were chosen on that split, so it may be too narrow. How many values it holds is counted on the test split alone,
// which set neither the width nor the weights.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/series/forecast_scores.h"
#include "model.h"
#include "recipe.h"
#include "trained_on.h"

namespace timeseries {

struct ForecastInterval {
  std::vector<double> half = {};    // its half width in original units, [steps, targets]; empty: by quantiles
  int64_t forecasts = 0;            // whose errors set the width
  std::string errors_of = {};       // what these are forecasts of: "the validation split"
  int64_t within = 0, counted = 0;  // values of the test that lie within, of so many

  // The share of the test's values within; none: no such value was counted.
  std::optional<double> coverage() const;
  // Counts the observed values of a window. `values`, `low` and `high` are [steps, targets] in original units: its forecast
  // and, of a model with quantiles, the outer ones.
  void count(const Series& series, int64_t origin, std::span<const int> targets,
             std::span<const double> values, std::span<const double> low, std::span<const double> high);
};

// By quantiles, if the model has them and `steps` are not more than its horizon: then nothing is measured.
bool has_quantile_interval(const Recipe& recipe, int steps);
// From errors, of which each step and target needs 8 or more; none: there are fewer.
std::optional<ForecastInterval> interval_of(const ForecastScores& errors, std::string errors_of);

// "80 %, by the errors of 12 forecasts of the validation split; of the test's 48 values 25 % lie within"
std::string describe(const ForecastInterval& interval, const Recipe& recipe);
// Without the numbers, for a picture: "80 % by the errors of the validation split"
std::string name_of(const ForecastInterval& interval, const Recipe& recipe);

// Errors of the model (of its middle quantile) on all windows. If there is an interval, counts in it what it holds of the
// windows whose origin is not before the row `first`; `far` looks at all that is forecast. Throws Interrupted after a signal.
ForecastScores score_model(const Recipe& recipe, const SeriesModel& model, SeriesWindows& windows,
                           const std::vector<double>& mase_scale = {}, ForecastInterval* interval = nullptr,
                           int64_t first = 0, FarOutside* far = nullptr);

}  // namespace timeseries
