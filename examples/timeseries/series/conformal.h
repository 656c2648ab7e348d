// Intervals around forecasts by conformal prediction (Vovk, Gammerman and Shafer 2005; for quantiles Romano,
// Patterson and Candès 2019). Errors of earlier forecasts, from rolling origins, give the width.
//
// The error of a point forecast is its distance from the value. The error of quantiles is how far the value lies
// outside of them, negative if it lies between. Errors count in units of their window: the cube root of the
// standard deviation of its observed values, with at least a tenth of the training rows' deviation. So intervals
// grow with a series, but less than it does.
//
// An error is known from the row after its own on. At each step and target an interval is widened by the quantile
// ⌈(n + 1) level⌉ / n of the n errors known at its origin. The last 500 errors are kept. Errors of rows that helped
// to choose the model leave first, one for each later error. Several series in one file pool their errors through
// know(), which keeps 2,000.
//
// All parts of an answer agree. The forecast is clamped to its bounds (bounds.h) before its error counts, and so is
// its interval. The interval contains the forecast; if it would have no width it is NaN. It also contains 0 or a
// bound if the share of that value is above 1 - level.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "examples/timeseries/series/bounds.h"
#include "examples/timeseries/series/series_windows.h"

namespace unroll {

class ConformalInterval {
 public:
  struct Options {
    int steps = 1;
    double level = 0.8;          // share of values that it should cover
    bool has_quantiles = false;  // the forecasts have quantiles: `low` and `high`
    SeriesBounds::Options bounds = {};
  };
  static constexpr int64_t least_errors = 8, most_errors = 500, most_errors_of_all = 2000;

  // For forecasts of targets of these or other windows over the same channels. Throws InputError unless 0 < level < 1.
  ConformalInterval(const SeriesWindows& windows, Options options);

  // Clamps a forecast to its bounds and widens its interval by the errors known at the origin, plus `further`
  // [steps, targets] units. `values` [steps, targets] forecast the rows from `origin` on, in original units. `low`
  // and `high` are its outer quantiles, or copies of the forecast. Requires: origins ascend from call to call. With
  // fewer than 8 errors, quantiles stay and point forecasts get NaN. With too few for the level, quantiles are
  // widened by the largest error and point forecasts get NaN.
  void widen(int64_t origin, std::span<double> values, std::span<double> low, std::span<double> high,
             std::span<const double> further = {});
  // Adds the errors of a forecast, given as it was before it was widened, at the values that were observed.
  // `chose`: its rows helped to choose the model.
  void learn(int64_t origin, std::span<const double> low, std::span<const double> high, bool chose);

  // The errors [steps, targets] that learn() would add. NaN: the value was not observed.
  std::vector<double> errors_of(int64_t origin, std::span<const double> low, std::span<const double> high);
  // The p-value of each error: (1 + known errors that are not smaller) / (1 + known errors), by step and target.
  // NaN: fewer than 8 errors are known at the origin, or the value was not observed.
  std::vector<double> p_values(int64_t origin, std::span<const double> errors);
  // Adds such errors of forecasts of another file or an earlier day. They are known from the first row on.
  void know(std::span<const double> errors, bool chose);

  // Several series share their errors: the time at which one error becomes known says nothing about another series.
  bool is_pooled() const { return !series_->members.empty(); }

  const Options& options() const& { return options_; }
  const SeriesBounds& bounds() const& { return bounds_; }
  // The fewest errors that suffice for the level.
  int64_t needed() const;
  // Whether an interval at each step and target would be widened.
  bool is_known() const;
  // The fewest errors known now at any step and target: of rows that helped to choose the model, and of others.
  struct Known {
    int64_t chose = 0, others = 0;
  };
  Known known() const;

 private:
  struct Error {
    int64_t row;
    double value;
    bool chose;
  };
  // The errors of one step and target.
  struct Errors {
    std::deque<Error> to_come;   // by row
    std::deque<Error> known;     // as they became known
    std::vector<double> sorted;  // the values of `known`
    int64_t chose = 0;           // how many of `known` chose the model
    void take(const Error& error, int64_t most = most_errors);
    void leave(std::deque<Error>::iterator error);
    double quantile(double level) const;  // NaN: too few
  };
  using Ends = SeriesBounds::Ends;
  using Place = SeriesBounds::Place;
  double reach(std::size_t i) const;  // in units; NaN: no interval
  double unit_of(int64_t origin, std::size_t target) const;
  void take_known(int64_t origin);
  // Calls use(i, place, unit) for each value i of [steps, targets], with the unit of the window before the origin.
  template <class Use>
  void for_each_value(int64_t origin, std::span<const double> low, std::span<const double> high, Use use);
  const Series* series_;
  std::vector<int> targets_;
  Scaling scaling_;  // of the training rows
  int window_;
  Options options_;
  SeriesBounds bounds_;
  std::vector<Errors> errors_;  // [steps, targets]
};

}  // namespace unroll
