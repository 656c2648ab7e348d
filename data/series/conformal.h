// Intervals around forecasts by conformal prediction (Vovk, Gammerman and Shafer 2005; of quantiles Romano, Patterson and
// Candès 2019) from rolling origins: each interval is as wide as the forecasts before it were wrong.
//
// How far a value lies outside of what was forecast, in units of its window's scale, is its error: of a point forecast the
// distance, of quantiles negative if it lies between them. An error is known from the row after its own on. At each step and
// target an interval is widened by the quantile ⌈(n + 1) level⌉ / n of the n errors known at its origin. These are the last
// 500; the errors of rows that helped to choose the model leave first, one for each later error.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "data/series/series_windows.h"

namespace unroll {

class ConformalInterval {
 public:
  struct Options {
    int steps = 1;
    double level = 0.8;                         // share of the values that it is meant for
    std::vector<double> least = {}, most = {};  // bounds of its ends, by target; empty: none
    bool has_quantiles = false;                 // `low` and `high` are an interval already
  };
  static constexpr int64_t least_errors = 8, most_errors = 500;

  // Of forecasts of the windows' targets, and of other windows over the same channels. InputError: a level not between 0 and 1.
  ConformalInterval(const SeriesWindows& windows, Options options);

  // `low` and `high` [steps, targets] are the outer quantiles of a forecast of rows origin, …, or both the forecast itself, in
  // original units. Origins ascend from call to call.
  // Widens them by the errors known at the origin. Fewer than 8 known, or too few for the level: quantiles stay, others are
  // NaN.
  void widen(int64_t origin, std::span<double> low, std::span<double> high);
  // Takes in the errors of a forecast as it was before it was widened, of the values that were observed. `chose`: its rows
  // helped to choose the model.
  void learn(int64_t origin, std::span<const double> low, std::span<const double> high, bool chose);

  // The errors [steps, targets] that learn() would take in. NaN: of a value that was not observed.
  std::vector<double> errors_of(int64_t origin, std::span<const double> low, std::span<const double> high);
  // Takes in such errors of forecasts of another file, or of an earlier day, as known from the first row on.
  void know(std::span<const double> errors, bool chose);

  const Options& options() const& { return options_; }
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
    void take(const Error& error);
    void leave(std::deque<Error>::iterator error);
    double quantile(double level) const;  // NaN: too few
  };
  double scale_of(int64_t origin, int channel) const;
  // Calls use(i, target, scale) for each value i of [steps, targets], with the scale of the window before the origin.
  template <class Use>
  void for_each_value(int64_t origin, std::span<const double> low, std::span<const double> high, Use use);
  const Series* series_;
  std::vector<int> targets_;
  std::vector<double> least_scale_;  // by target
  int window_, lead_;
  Options options_;
  std::vector<Errors> errors_;  // [steps, targets]
};

}  // namespace unroll
