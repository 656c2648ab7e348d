// The interval around forecasts: one definition for all commands, tables and pictures, of the model and of baselines.
//
// It is meant for 80 % of the values, or for those between the model's outer quantiles. Its width is conformal
// (examples/timeseries/series/conformal.h): the errors of the validation split's forecasts set it at first, those of the test's forecasts as
// they become known. So the rows of a forecast never set its width, and how many values lie within is counted on the test.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "examples/timeseries/baselines/baselines.h"
#include "examples/timeseries/model/series_model.h"
#include "examples/timeseries/networks/trained_on.h"
#include "examples/timeseries/recipe/recipe.h"
#include "examples/timeseries/series/conformal.h"
#include "examples/timeseries/series/forecast_scores.h"

namespace timeseries {

// The forecast of one window, [steps, targets] in original units. `low` and `high` are the model's outer quantiles, or both the forecast,
// until an interval is put in their place.
struct WindowForecast {
  int64_t origin = 0;
  std::vector<double> values, low, high;
};
using ForecastUse = std::function<void(WindowForecast& forecast)>;
// Makes the forecasts of all windows in order of time, and gives each away. False, and no more of them, where a window has too
// little history. Throws Interrupted after a signal.
using Forecasts = std::function<bool(SeriesWindows& windows, const ForecastUse& use)>;
// Requires: the arguments outlive it.
Forecasts forecasts_of(const Recipe& recipe, const SeriesModel& model);
Forecasts forecasts_of(const ForecastBaseline& baseline);

struct ForecastInterval {
  ConformalInterval widths;
  double below = 0.1, above = 0.1;  // shares of the values that should lie outside
  std::string errors_of = {};       // by which the widths began: "the validation split"
  std::string bound = {};           // "not below 0", of the latest forecast; empty: none
  int64_t within = 0, counted = 0;  // values of the test that lie within, of so many

  // The share of the test's values within; none: no such value was counted.
  std::optional<double> coverage() const;
  // Counts the observed values of a window.
  void count(const Series& series, const WindowForecast& forecast, std::span<const int> targets);
  // Puts the interval in place of `low` and `high`, by the errors known at the forecast's origin and by `further` units. The
  // forecast keeps to its bounds.
  void put(WindowForecast& forecast, std::span<const double> further = {});
  // And learns from the forecast as it was. `chose`: its rows helped to choose what forecasts.
  void put_and_learn(WindowForecast& forecast, bool chose);
};

// Between quantiles, if the model has them and `steps` are not more than its horizon.
bool has_quantile_interval(const Recipe& recipe, int steps);
// The bounds of a series: the recipe's, or 0, by its rows and those that trained.
SeriesBounds bounds_of(const Recipe& recipe, const TrainedOn& trained, const SeriesWindows& windows);
// One that knows no errors yet, of so many steps of the windows' targets. `quantiles`: of a model that has them, else of a point
// forecast. `beside_quantiles`: of one whose scores stand beside theirs, so for as many of the values: those of two levels do
// not compare.
ForecastInterval make_interval(const Recipe& recipe, const TrainedOn& trained, const SeriesWindows& windows,
                               int steps, bool quantiles, bool beside_quantiles = false);
// "80 %, by the errors of the last 48 forecasts of the validation split and the test split, not below 0; of the test's 48 values
// 77 % lie within, by the errors before each"
std::string describe(const ForecastInterval& interval, const Recipe& recipe);
// Without the numbers, for a picture: "80 % interval"
std::string name_of(const ForecastInterval& interval, const Recipe& recipe);

// Tells the interval the errors of forecasts of rows that validate. `chose`: these rows helped to choose what forecasts. With
// several series in one file they are known at once, from forecasts evenly spread over all. `count`: how
// many forecasts there are; 0: one of each window.
bool learn_from(ForecastInterval& interval, const Forecasts& forecasts, SeriesWindows& valid, bool chose,
                int64_t count = 0);
// Scores the forecasts of windows with their intervals, which learn from each as its rows become known. A
// forecast with its origin before the row `first` of its series has none, and tells nothing. `counts`: the values that lie within are counted, since
// the rows did not choose what forecasts. Each forecast goes to `seen`, with its interval; NaN: it has none. False: a window
// has too little history.
bool score_with(ForecastInterval& interval, const Forecasts& forecasts, SeriesWindows& windows,
                std::span<const int64_t> first, bool counts, ForecastScores& scores, const ForecastUse& seen);

}  // namespace timeseries
