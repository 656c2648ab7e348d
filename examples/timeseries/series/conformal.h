// Intervals around forecasts by conformal prediction (Vovk, Gammerman and Shafer 2005; of quantiles Romano, Patterson and
// Candès 2019) from rolling origins: each interval is as wide as the forecasts before it were wrong.
//
// How far a value lies outside of what was forecast, in units of its window, is its error: of a point forecast the distance, of
// quantiles negative if it lies between them. A window's unit is the cube root of the standard deviation of its observed values (at
// least a tenth of the training rows'): so intervals grow with a series, but less. An error is known from the row after its own on.
// At each step and target an interval is widened by the quantile ⌈(n + 1) level⌉ / n of the n errors known at its origin. These are
// the last 500; the errors of rows that helped to choose the model leave first, one for each later error. Of several series in one
// file the errors are put together: they are told by know(), and there may be 2,000.
//
// An answer agrees in all its parts. The forecast is within the bounds (bounds.h) before its error counts, and its interval too. It
// lies in its interval, which has a width or is none (NaN). A value that is too frequent to be left out lies in it: one of a share
// above 1 - level, if it is 0 or a bound.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "examples/timeseries/series/bounds.h"
#include "examples/timeseries/series/series_windows.h"

namespace unroll {

constexpr int decile_count = 9;

class ConformalInterval {
 public:
  struct Options {
    int steps = 1;
    double level = 0.8;          // share of the values that it is meant for
    bool has_quantiles = false;  // `low` and `high` are an interval already
    double lower = 0.1;          // then: the quantile that `low` is
    SeriesBounds::Options bounds = {};
  };
  static constexpr int64_t least_errors = 8, most_errors = 500, most_errors_of_all = 2000;

  // Of forecasts of the windows' targets, and of other windows over the same channels. InputError: a level not between 0 and 1.
  ConformalInterval(const SeriesWindows& windows, Options options);

  // `values` [steps, targets] are a forecast of rows origin, …; `low` and `high` its outer quantiles, or both the forecast itself;
  // in original units. Origins ascend from call to call.
  // Bounds all three, and widens `low` and `high` by the errors known at the origin and by `further` [steps, targets] units.
  // Fewer than 8 errors: quantiles stay, others are NaN. Too few for the level: quantiles are widened by the largest.
  void widen(int64_t origin, std::span<double> values, std::span<double> low, std::span<double> high,
             std::span<const double> further = {});
  // The ascending deciles 0.1, …, 0.9 of the values [steps, targets, 9], by the same errors: of a point forecast the ends of its intervals
  // for 80, 60, 40 and 20 %, and itself; of quantiles on the lines from the lower end to `middle` to the upper one, once these
  // are widened. NaN: too few errors, or the decile lies outside of the quantiles.
  std::vector<double> deciles(int64_t origin, std::span<const double> middle, std::span<const double> low,
                              std::span<const double> high);
  // Takes in the errors of a forecast as it was before it was widened, of the values that were observed. `chose`: its rows
  // helped to choose the model.
  void learn(int64_t origin, std::span<const double> low, std::span<const double> high, bool chose);

  // The errors [steps, targets] that learn() would take in. NaN: of a value that was not observed.
  std::vector<double> errors_of(int64_t origin, std::span<const double> low, std::span<const double> high);
  // How seldom an error so large is, of each step and target: (1 + those known that are not less) / (1 + all that are known at the
  // origin). NaN: fewer than 8 are known, or the value was not observed.
  std::vector<double> p_values(int64_t origin, std::span<const double> errors);
  // Takes in such errors of forecasts of another file, or of an earlier day, as known from the first row on.
  void know(std::span<const double> errors, bool chose);

  // Of several series: what becomes known in one says nothing of when it is known in another.
  bool is_pooled() const { return !series_->members.empty(); }

  const Options& options() const& { return options_; }
  const SeriesBounds& bounds() const& { return bounds_; }
  // The fewest errors that suffice for the level.
  int64_t needed() const;
  // Whether an interval at each step and target would be widened.
  bool is_known() const;
  // Of one step and target the fewest errors that are known now, of rows that helped to choose the model and of others.
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
  // Of a step and target.
  struct Errors {
    std::deque<Error> to_come;   // by row
    std::deque<Error> known;     // as they became known
    std::vector<double> sorted;  // the values of those known
    int64_t chose = 0;           // how many of those known
    void take(const Error& error, int64_t most = most_errors);
    void leave(std::deque<Error>::iterator error);
    double quantile(double level) const;  // NaN: too few
  };
  struct Ends {
    double low, high;
  };
  // Of one value of a step and target.
  struct Place {
    int64_t origin, row;
    std::size_t target;
    Bound bound;
  };
  Ends ends(const Place& place, double value, Ends from, double by, double level) const;
  double reach(std::size_t i, double level) const;  // in units; NaN: no interval
  double unit_of(int64_t origin, std::size_t target) const;
  void take_known(int64_t origin);
  // Calls use(i, place, unit) for each value i of [steps, targets], with the unit of the window before the origin.
  template <class Use>
  void for_each_value(int64_t origin, std::span<const double> low, std::span<const double> high, Use use);
  const Series* series_;
  std::vector<int> targets_;
  Scaling scaling_;  // of the training rows
  int window_, lead_;
  Options options_;
  SeriesBounds bounds_;
  std::vector<Errors> errors_;  // [steps, targets]
};

}  // namespace unroll
