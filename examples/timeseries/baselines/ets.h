// Exponential smoothing in state space form (Hyndman, Koehler, Ord and Snyder 2008): fitted by likelihood, chosen by AICc.
//
// Of a row y, with the level l and slope b after the row before it and the season s of a period before:
//   q = l + φ b,  μ = q + s or q s,  e = y - μ
//   l' = q + α e, b' = φ b + β e, s' = s + γ e;  with a season that multiplies: q + α e/s, φ b + β e/s, s + γ e/q
// An additive error has variance σ², one that multiplies (μ σ)².
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
  std::vector<double> season = {};  // of the first rows; their number is the period; empty: none
  double log_likelihood = 0, aicc = 0;
};

// Rows that were filled in are marked by 1; none marked: empty. They move the states and are not in the likelihood.
struct EtsRows {
  std::span<const double> y;
  std::span<const uint8_t> filled = {};
};

// By what a model is made of; of the season by each state, or of none.
struct EtsSlopes {
  double alpha = 0, beta = 0, gamma = 0, phi = 0, level = 0, slope = 0;
  std::vector<double> season = {};
};

// Of the rows, the variance of the errors being the one that makes it largest. Minus infinity: the form cannot be that of these
// rows, as where a forecast that errors multiply is not above 0. Its slopes go to `slopes`, if it is finite.
double log_likelihood(const EtsModel& model, const EtsRows& rows, EtsSlopes* slopes = nullptr);

// The model of that form that makes the rows likeliest, 0.0001 < β < α < 0.9999, γ < 1 - α, 0.8 < φ < 0.98. The initial season
// adds up to 0, or to the period. None: too few rows for its AICc, or a form that multiplies with values that are not above 0.
std::optional<EtsModel> fit_ets(const EtsForm& form, const EtsRows& rows, int64_t period);
// The one of least AICc among additive errors without a season that multiplies, and errors that multiply with every season.
// None: too few rows for any. A period of 1 has no season; one of which the rows hold less than two is left out.
std::optional<EtsModel> choose_ets(const EtsRows& rows, int64_t period);

// The states after each of the rows that it has been given.
class EtsStates {
 public:
  explicit EtsStates(EtsModel model);
  int64_t rows() const { return static_cast<int64_t>(levels_.size()); }
  void add(double y);
  // The rows after the first `rows` of them.
  void forecast(int64_t rows, std::span<double> to) const;

 private:
  // After row -1 at the earliest; that of the season is the one of the row itself.
  double level(int64_t row) const { return row < 0 ? model_.level : levels_[static_cast<std::size_t>(row)]; }
  double slope(int64_t row) const { return row < 0 ? model_.slope : slopes_[static_cast<std::size_t>(row)]; }
  double season(int64_t row) const;
  EtsModel model_;
  std::vector<double> levels_, slopes_, seasons_;
};

}  // namespace unroll
