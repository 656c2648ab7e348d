// The table of generators. To add one: a function in the file of its family, its declaration and its row here. And the kernel
// of gaussian.cpp, for its test.
#pragma once

#include <string_view>
#include <vector>

#include "examples/timeseries/synthetic/draw.h"

namespace unroll::synthetic {

struct Path {
  std::vector<double> y;  // [rows], finite
  int season = 1;         // in rows; 1: none
};
using Generator = Path(Draw& draw, int rows);

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
  Generator* make;
};

Generator trend, walk, white, season, two_seasons, growing_season;    // trends.cpp
Generator gaussian;                                                   // gaussian.cpp
Generator arma, sarima, state_space;                                  // arma.cpp
Generator shifts, outliers, variance, intermittent, counts, bounded;  // events.cpp
Generator yearly, quarterly, monthly, weekly, daily, within_a_day;    // business.cpp
Generator threshold, logistic_map, regimes, sawtooth, bursts;         // held_out.cpp

inline constexpr SyntheticKind synthetic_kinds[] = {
    {"yearly", 9, Nature::positive, yearly},         // a business by years: walks, slopes, trends, cycles
    {"quarterly", 10, Nature::positive, quarterly},  // by quarters, three in four with a season
    {"monthly", 14, Nature::positive, monthly},      // by months, some with months' lengths and trading days
    {"weekly", 3, Nature::positive, weekly},         // by weeks; a year has 52.18 of them
    {"daily", 5, Nature::positive, daily},           // by days: weeks, years, wages; some closed at weekends
    {"hourly", 5, Nature::positive, within_a_day},   // by hours or parts of them: days, weekends, weather
    {"trend", 4, Nature::free, trend},               // linear, damped, broken, exponential, S-shaped
    {"season", 4, Nature::free, season},             // one season, whose shape may change slowly
    {"two-seasons", 3, Nature::free, two_seasons},   // a season within a longer one
    {"growing-season", 5, Nature::positive, growing_season},  // a season whose height grows with the level
    {"ets", 9, Nature::positive, state_space},                // exponential smoothing, in all its forms
    {"arma", 4, Nature::free, arma},                          // stable random coefficients, up to (3, 3)
    {"sarima", 4, Nature::free, sarima},                      // with a seasonal lag; two in five integrated
    {"walk", 6, Nature::positive, walk},  // random walks: with drift, with errors, of slopes, of logarithms
    {"noise", 2, Nature::free, white},    // independent values
    {"shifts", 2, Nature::free, shifts},  // a level that steps
    {"outliers", 1, Nature::free, outliers},            // values far off
    {"variance", 2, Nature::free, variance},            // GARCH, or a variance that grows or has a season
    {"intermittent", 2, Nature::counts, intermittent},  // demand after geometric gaps
    {"counts", 2, Nature::counts, counts},              // Poisson and negative-binomial numbers
    {"bounded", 1, Nature::free, bounded},              // shares, and series at full capacity
    {"gaussian", 3, Nature::free, gaussian},            // Gaussian processes by composed kernels
    {"threshold", 0, Nature::free, threshold},          // an autoregression that changes at a threshold
    {"logistic-map", 0, Nature::free, logistic_map},    // chaos without noise
    {"regimes", 0, Nature::free, regimes},              // Markov switching between means and deviations
    {"sawtooth", 0, Nature::free, sawtooth},            // rises evenly, falls at once, in periods that vary
    {"bursts", 0, Nature::counts, bursts},              // events that excite further ones
};

// A stationary kernel, as the spectrum from which random Fourier features draw frequencies: E cos(ω d) is the kernel at distance
// d (Rahimi and Recht 2007).
struct Kernel {
  enum Form {
    smooth,    // exp(-d² / (2 length²))
    rational,  // (1 + d² / (2 shape length²))^-shape
    periodic   // exp(-2 sin²(π d / period) / length²)
  } form;
  double length, shape, period;  // in rows, but a periodic kernel's length, which is relative to its period

  double frequency(Draw& draw) const;  // radians a row
};

}  // namespace unroll::synthetic
