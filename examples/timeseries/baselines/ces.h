// Complex exponential smoothing (Svetunkov, Kourentzes and Ord 2022): fitted by least squares, its season chosen by AICc.
//
// A state is a level l and its shadow c, the real and the imaginary part of one complex number. For a row y:
//   e = y - l,  l' = l - (1 - α1) c + (α0 - α1) e,  c' = l + (1 - α0) c + (α0 + α1) e
// No season: l and c are those after the previous row. Simple: those of one period before. Partial and full: those
// after the previous row, and a season s is added to l in e. Partial: s' = s + β0 e, of one period before. Full: s has
// a shadow, too, and both are updated like l and c, with β in place of α.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "examples/timeseries/baselines/fitting.h"

namespace unroll {

enum class CesSeason : uint8_t { none, simple, partial, full };

struct CesModel {
  CesSeason season = CesSeason::none;
  double alpha0 = 1.3, alpha1 = 1, beta0 = 0, beta1 = 0;
  using State = std::array<double, 4>;  // level and shadow, season and shadow
  std::vector<State> first = {{}};      // before the first row: one, or one for each row of a period
  double log_likelihood = 0, aicc = 0;  // up to a constant: -n/2 log Σ e²

  std::string name() const;  // "N", "S", "P", "F"
  std::vector<State> before() const { return first; }
  State next(std::span<const State> past, double y) const;
  void forecast(std::span<const State> past, std::span<double> to) const;
};

// Fits the smoothing parameters: α0 in [0.01, 1.8], α1 in [0.01, 1.9], β0 and β1 in [0.01, 1.5]. The states before the first
// row are found by going over the rows forwards, backwards and forwards again, as the errors of the last time count. None:
// too few rows for an AICc, fewer than two periods for a season, or rows that are all alike.
std::optional<CesModel> fit_ces(CesSeason season, const FittedRows& rows, int64_t period);
// The model of least AICc; a period of 1 has no season. Rows that are all alike: their value. None: too few rows for all.
std::optional<CesModel> choose_ces(const FittedRows& rows, int64_t period);

// -n/2 log Σ e² of the rows, from the states in model.first.
double log_likelihood(const CesModel& model, const FittedRows& rows);

}  // namespace unroll
