// The bounds of forecasts and of their intervals: those asked for, or 0.
//
// 0 bounds a series if no value of it that was observed before the forecast lies beyond it. Several series in one file have each
// their own.
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

class SeriesBounds {
 public:
  struct Options {
    std::vector<double> asked = {};  // least and most; empty: none
    // Least and most by channel of earlier rows of the only series, as of those that trained; empty: not known.
    std::vector<double> least = {}, most = {};
    int64_t period = 1;
  };
  // The series must outlive it.
  SeriesBounds(const Series& series, std::vector<int> targets, Options options);

  // Bounds a forecast of rows from the origin on.
  Bound at(int64_t origin, std::size_t target) const;
  // Bounds the values [steps, targets] of such a forecast.
  void clamp(int64_t origin, std::vector<double>& values) const;
  // The share of a value among the last 20 rows before the origin that are whole periods before a row. Fewer than 3 such rows: of
  // all rows of the series among the last 20. An interval that leaves out a value of this share holds less than the rest.
  double share_of(double value, int64_t row, int64_t origin, std::size_t target) const;
  // "not below 0"; empty: no bound.
  std::string text(int64_t origin) const;

 private:
  struct Sides {
    int64_t below, above;   // the first row of a value below 0, and of one above it
    bool has_zero = false;  // which few series have
  };
  const Series* series_;
  std::vector<int> targets_;
  Options options_;
  std::vector<Sides> sides_;  // [series, targets]
};

}  // namespace unroll
