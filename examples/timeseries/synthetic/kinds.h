// The table of generators. To add one: a function in the file of its family, its declaration here, and a row in kinds.cpp.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "examples/timeseries/synthetic/draw.h"

namespace unroll::synthetic {

struct Path {
  std::vector<double> y;  // [rows], finite
  int season = 1;         // in rows; 1: none
};
using Generator = Path (*)(Draw& draw, int rows);

// How a path may be changed afterwards.
enum class Nature : uint8_t {
  free,      // only the shape counts: standardized, then moved by any offset
  positive,  // the level counts, if all values are above 0: scaled alone
  counts     // whole numbers from 0 on, which stay
};

struct SyntheticKind {
  std::string_view word;
  double weight;  // of a hundred series for training; 0: held out
  Nature nature;
  Generator make;
  std::string_view purpose;
};
std::span<const SyntheticKind> synthetic_kinds();

// trends.cpp
Path trend(Draw& draw, int rows);
Path walk(Draw& draw, int rows);
Path white(Draw& draw, int rows);
// seasons.cpp
Path season(Draw& draw, int rows);
Path two_seasons(Draw& draw, int rows);
Path growing_season(Draw& draw, int rows);
// gaussian.cpp
Path gaussian(Draw& draw, int rows);
// arma.cpp
Path arma(Draw& draw, int rows);
Path sarima(Draw& draw, int rows);
Path state_space(Draw& draw, int rows);
// events.cpp
Path shifts(Draw& draw, int rows);
Path outliers(Draw& draw, int rows);
Path variance(Draw& draw, int rows);
Path intermittent(Draw& draw, int rows);
Path counts(Draw& draw, int rows);
Path bounded(Draw& draw, int rows);
// business.cpp
Path yearly(Draw& draw, int rows);
Path quarterly(Draw& draw, int rows);
Path monthly(Draw& draw, int rows);
Path weekly(Draw& draw, int rows);
Path daily(Draw& draw, int rows);
Path within_a_day(Draw& draw, int rows);
// held_out.cpp
Path threshold(Draw& draw, int rows);
Path logistic_map(Draw& draw, int rows);
Path regimes(Draw& draw, int rows);
Path sawtooth(Draw& draw, int rows);
Path bursts(Draw& draw, int rows);

}  // namespace unroll::synthetic
