// The trimmed weighted mean of a few forecasters, for series without a recipe: the network that ships with the program, ETS,
// Theta, CES, ridge regression and seasonal naive.
//
// Folds: the members are fitted to the first rows and forecast from each of the later ones, with parameters kept. Then they
// are fitted to all rows. Weights go from first ones to one over the square of the mean square error as folds become many
// (Bates and Granger 1969); equal weights are hard to beat where they are few (Stock and Watson 2004). The network
// begins with twice the others' weight, seasonal naive with a tenth, and ridge regression with a half. At each step the lowest
// and the highest fifth of the weight do not count, so one member that errs far does not move the mean (Jose and Winkler 2008).
// The network, Theta and CES read one season: of two, that by which they err less on the folds.
// The interval has the width of the first member that knows its own, the network's as a rule, and grows with the distance
// between members. Errors on the folds change it, at each step; over many folds, the mean width at the step may take its place.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "examples/timeseries/baselines/baselines.h"

namespace unroll {

// The words of all members, those of the baselines' table.
std::vector<std::string> combination_words();

struct CombinationOptions {
  int64_t period = 1, second_period = 0;  // rows of a season
  int64_t longest_season() const { return period > second_period ? period : second_period; }
  int horizon = 1;                        // steps that the folds forecast
  std::vector<std::string> members = {};  // words; empty: all
  bool fast =
      false;  // leaves out the members that take more than some milliseconds: the network, ETS and ridge regression
};

// Weights that add up to 1: `first` to the power of 1 - t, times one over a member's mean square error to the power of 2 t,
// with t = folds / (folds + 3). NaN: the error is not known, and counts as that of the best. Members without error have all.
std::vector<double> combination_weights(std::span<const double> first, std::span<const double> mean_squares,
                                        double folds);

struct WeightedValue {
  double value, weight;
};
// Sorts the values and returns their weighted mean without the lowest and the highest fifth of the weight. Requires at least one
// value, and weights above 0.
double trimmed_mean(std::vector<WeightedValue>& all);

// The mean of one channel's forecasts.
class Combination {
 public:
  static constexpr int64_t least_rows = 3;

  struct Member {
    std::string name;
    double first = 1;           // its weight before the folds
    double weight = 0;          // of all members they add up to 1
    bool by_second = false;     // reads the second season; the member before it is the same by the first
    double error = 0;           // root mean square on the folds; NaN: none
    std::string left_out = {};  // why it has no weight; empty: it has one
    ForecastBaseline baseline = {};
  };
  struct Forecast {
    std::vector<double> values, low, high;  // [steps]; the interval should hold 80 % of the values
    std::vector<std::string> exploded =
        {};  // members left out, for they go far outside of what the series was
  };

  // Fits the members to the rows of the part's last span, of which there must be one at least.
  Combination(const Series& series, const Part& train, int channel, const CombinationOptions& options);

  // The folds, and what they tell.
  struct Folds {
    int64_t windows = 0, first = 0;  // windows that are forecast; the first row of the first one
    double naive_error = 0;          // the seasonal naive forecast's; NaN: not all windows have one
    int64_t interval_errors = 0;     // so many moved the interval's width
    double interval_share = 1;       // so much of the width is what members expect, as a power: 1, 0.5 or 0
    // They moved it by this factor in all if the share is 1. It isn't below 1 if the folds are fewer rows than the longest season. Each
    // step has its own.
    double interval_factor = 1;
  };
  const std::vector<Member>& members() const { return members_; }
  const Folds& folds() const { return folds_; }

  // As ForecastBaseline::prepare, for all members.
  void prepare(const Series& series, std::span<const int64_t> origins, std::size_t steps) const;
  // Forecasts the rows from `origin` on by those before it. Filled-in rows just before it are forecast, not read. Requires:
  // origins ascend, and at least one row lies before.
  Forecast forecast(const Series& series, int64_t origin, int64_t steps) const;

 private:
  struct FoldRows;
  // The distance of the mean from an end of the interval: of_step times the reach, what the members expect, to the power `share`.
  // Beyond the steps of the folds it grows as the reach does.
  struct Widths {
    double share = 1;
    double factor = 1;  // of all steps, in of_step
    std::vector<double> of_step = {1};
    double ratio = 1;  // 80 % of the errors are no larger, in units of the reach; factor is a part of it
    double score = 0;  // Winkler's, on the folds
    struct Error {
      double off, reach;
    };
    // The width at step h, by the reach of each step up to it.
    double at(std::size_t h, std::span<const double> reach) const;
    static Widths by(const std::vector<std::vector<Error>>& errors, double share, double rows);
  };
  void weigh(const FoldRows& rows, std::vector<Member>& early);
  void widen(const FoldRows& rows, const std::vector<Member>& early);
  int64_t after_last_value(const Series& series, int64_t origin) const;
  std::vector<double> random_walk(const Series& series, int64_t origin, int64_t steps) const;
  Forecast mean_of(const std::vector<Member>& members, const Series& series, int64_t origin,
                   int64_t steps) const;

  int channel_;
  int64_t period_, begin_;
  std::vector<Member> members_;
  Folds folds_;
  Widths widths_ = {};
};

}  // namespace unroll
