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
};

// Rows to fit. `filled` marks filled-in rows by 1; empty: none. They move the states but do not count in the
// likelihood.
struct EtsRows {
  std::span<const double> y;
  std::span<const uint8_t> filled = {};
};

// The gradient by a model's parameters and initial states, one number for each state of the season; and the mean square
// of the errors, of relative ones if errors multiply.
struct EtsSlopes {
  double mean_square = 0;
  double alpha = 0, beta = 0, gamma = 0, phi = 0, level = 0, slope = 0;
  std::vector<double> season = {};
};

// The log likelihood of the rows, at the error variance that makes it largest. Minus infinity: the form does not suit
// these rows, such as a forecast not above 0 with multiplicative errors. If finite, its gradient goes to `slopes`.
double log_likelihood(const EtsModel& model, const EtsRows& rows, EtsSlopes* slopes = nullptr);

// Fits a model of this form by maximum likelihood, with 0.0001 < β < α < 0.9999, γ < 1 - α, 0.8 < φ < 0.98. The
// initial season sums to 0, or to the period if it multiplies. None: too few rows for its AICc, or a multiplicative
// form with values not above 0.
std::optional<EtsModel> fit_ets(const EtsForm& form, const EtsRows& rows, int64_t period);
// The model with the least AICc: additive errors without a multiplicative season, or multiplicative errors with any
// season. None: too few rows for all of them. A period of 1 has no season; a period of which there are fewer than
// two is left out.
std::optional<EtsModel> choose_ets(const EtsRows& rows, int64_t period);

// The states after each row added so far.
class EtsStates {
 public:
  explicit EtsStates(EtsModel model);
  int64_t rows() const { return static_cast<int64_t>(levels_.size()); }
  void add(double y);
  // Forecasts the rows after the first `rows` rows.
  void forecast(int64_t rows, std::span<double> to) const;
  // The standard deviation of the errors of these forecasts, by the formulas for the form's class (chapter 6 of the book).
  void deviations(int64_t rows, std::span<double> to) const;

 private:
  // States after a row, from row -1 on; the season is the one of the row itself.
  double level(int64_t row) const { return row < 0 ? model_.level : levels_[row]; }
  double slope(int64_t row) const { return row < 0 ? model_.slope : slopes_[row]; }
  double season(int64_t row) const;
  EtsModel model_;
  std::vector<double> levels_, slopes_, seasons_;
};

}  // namespace unroll
