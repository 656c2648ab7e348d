// Bounds of forecasts and of their intervals: the ones asked for, else 0.
//
// 0 is a bound of a series if no value observed before the forecast lies beyond it. Several series in one file each
// have their own bounds.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "examples/timeseries/series/series.h"

namespace unroll {

struct Bound {
  double least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();
  double clamp(double value) const { return value < least ? least : value > most ? most : value; }
  bool operator==(const Bound&) const = default;
};

// Temperatures, by their names, are bounded only as is asked for.
class SeriesBounds {
 public:
  struct Options {
    std::vector<double> asked = {};  // least and most; empty: none
    // Least and most by channel of earlier rows, such as training rows. Only for a single series; empty: unknown.
    std::vector<double> least = {}, most = {};
    std::vector<int64_t> periods = {};  // rows of each target's season; empty: 1
  };
  // Requires: the series outlives it.
  SeriesBounds(const Series& series, std::vector<int> targets, Options options);

  // The bound of a forecast whose first row is `origin`.
  Bound at(int64_t origin, std::size_t target) const;
  // Clamps the values [steps, targets] of such a forecast.
  void clamp(int64_t origin, std::vector<double>& values) const;
  // The share of rows with this value among the last 20 rows before the origin that lie whole periods before `row`.
  // Fewer than 3 such rows: among the series' last 20. An interval that leaves out a value covers less by its share.
  double share_of(double value, int64_t row, int64_t origin, std::size_t target) const;
  // One value of a forecast.
  struct Place {
    int64_t origin, row;
    std::size_t target;
    Bound bound;
  };
  struct Ends {
    double low, high;
  };
  // The ends of an interval, clamped to the bound. They contain the forecast, and 0 or a bound if the share of that value is above
  // `rest`.
  Ends around(const Place& place, double value, Ends interval, double rest) const;
  // "not below 0"; empty: no bound.
  std::string text(int64_t origin) const;

 private:
  struct Sides {
    int64_t below, above;   // the first row of a value below 0, and of one above it
    bool has_zero = false;  // most series have none
  };
  const Series* series_;
  std::vector<int> targets_;
  Options options_;
  std::vector<Sides> sides_;  // [series, targets]
};

}  // namespace unroll
