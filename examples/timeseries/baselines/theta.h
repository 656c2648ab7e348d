// The optimised Theta method (Fiorucci, Pellegrini, Louzada, Petropoulos and Koehler 2016): simple exponential smoothing of the
// deseasonalised rows, and a share 1 - 1/θ of their line's slope as its drift.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "examples/timeseries/baselines/fitting.h"

namespace unroll {

struct ThetaModel {
  double alpha = 0.5, slope = 0;    // smoothing weight; the line's slope per row
  double share = 0.5;               // of the slope, in [0, 1]; half in the method of 2000, whose θ is 2
  double first = 0;                 // the level before the first row
  std::vector<double> season = {};  // from the first row on; empty: none
  bool multiplies = false;          // the season multiplies; else it is added
  double variance = 0;              // of the errors one row ahead

  using State = double;                    // the level
  std::string name() const { return ""; }  // it has one form
  std::vector<State> before() const { return {first}; }
  State next(std::span<const State> past, double y) const;
  // Requires: at least one row was added.
  void forecast(std::span<const State> past, std::span<double> to) const;
  // As for simple exponential smoothing.
  void deviations(std::span<const State> past, std::span<double> to) const;

 private:
  double season_of(std::size_t row) const;
};

// The season of classical decomposition: each place's mean distance from, or ratio to, a moving average as wide as the
// period. It sums to 0, or to the period if it multiplies. Filled-in rows count in the average alone. Empty: a place
// has no row.
std::vector<double> classical_season(const FittedRows& rows, int64_t period, bool multiplies);

// Fits by least squares: the slope to the rows; α in [0.1, 1], share and first level to the errors one row ahead. The
// season is taken out first if the autocorrelation at the period is significant (at 90 %), by classical decomposition;
// it multiplies if all values are above 0. Filled-in rows are read, but their errors do not count. None: fewer
// than 4 rows, or none observed.
std::optional<ThetaModel> fit_theta(const FittedRows& rows, int64_t period);

}  // namespace unroll
