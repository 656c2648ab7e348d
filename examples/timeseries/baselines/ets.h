// Exponential smoothing in state space form (Hyndman, Koehler, Ord and Snyder 2008): fitted by likelihood, chosen
// by AICc.
//
// For a row y, with level l and slope b after the previous row, and the season s of one period before:
//   q = l + φ b,  μ = q + s or q s,  e = y - μ
//   l' = q + α e, b' = φ b + β e, s' = s + γ e;  multiplicative season: q + α e/s, φ b + β e/s, s + γ e/q
// An additive error has variance σ², a multiplicative one (μ σ)².
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "examples/timeseries/baselines/fitting.h"

namespace unroll {

struct EtsForm {
  enum class Trend : uint8_t { none, additive, damped };
  enum class Season : uint8_t { none, additive, multiplicative };
  bool multiplicative_error = false;
  Trend trend = Trend::none;
  Season season = Season::none;

  std::string name() const;  // "MAdM"
};

struct EtsModel {
  EtsForm form;
  double alpha = 0.5, beta = 0, gamma = 0, phi = 1;
  double level = 0, slope = 0;      // before the first row
  std::vector<double> season = {};  // of the first rows, one period of them; empty: none
  double log_likelihood = 0, aicc = 0;
  double variance = 0;  // of an error, of a relative one if errors multiply

  struct State {
    double level, slope, season;  // the season of the row itself
  };
  std::string name() const { return form.name(); }
  std::vector<State> before() const;  // the first row: a period of them
  State next(std::span<const State> past, double y) const;
  void forecast(std::span<const State> past, std::span<double> to) const;
  // By the formulas for the form's class (chapter 6 of the book).
  void deviations(std::span<const State> past, std::span<double> to) const;

 private:
  double season_ahead(std::span<const State> past, std::size_t step) const;
};

// The log likelihood of the rows, at the error variance that makes it largest. Minus infinity: the form does not suit
// these rows, such as a forecast not above 0 with multiplicative errors. If finite, its gradient by the parameters and the
// initial states goes to `slopes`, with one number for each state of the season.
double log_likelihood(const EtsModel& model, const FittedRows& rows, EtsModel* slopes = nullptr);

// Fits a model of this form by maximum likelihood, with 0.0001 < β < α < 0.9999, γ < 1 - α, 0.8 < φ < 0.98. The
// initial season sums to 0, or to the period if it multiplies. None: too few rows for its AICc, or a multiplicative
// form with values not above 0.
std::optional<EtsModel> fit_ets(const EtsForm& form, const FittedRows& rows, int64_t period);
// The model with the least AICc: additive errors without a multiplicative season, or multiplicative errors with any
// season. None: too few rows for all of them. A period of 1 has no season; a period of which there are fewer than
// two is left out.
std::optional<EtsModel> choose_ets(const FittedRows& rows, int64_t period);

}  // namespace unroll
