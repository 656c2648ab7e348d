// The parts of a fit that several baselines share: rows, least squares, a minimum, the states of a model row by row.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "framework/check.h"

namespace unroll {

// Rows to fit. `filled` marks filled-in rows by 1; empty: none. They move the states, but their errors do not count.
struct FittedRows {
  std::span<const double> y;
  std::span<const uint8_t> filled = {};

  bool counts(std::size_t row) const { return filled.empty() || !filled[row]; }
  double count() const;  // of the rows that count
  bool is_constant() const;
};

// Akaike's criterion of a fit to n rows, corrected for few of them.
double aicc(double log_likelihood, double parameters, double n);

// The w that minimises |X w - y|² by Householder's QR. X [y.size(), columns] is row-major; X and y are overwritten.
// A column that depends on earlier ones (to 1e-10 of its length) gets the coefficient 0.
std::vector<double> least_squares(std::span<double> x, std::span<double> y, int columns);

// Returns the value at x and writes its gradient, unless that is empty; the value is not finite where the function is undefined.
using SmoothFunction = std::function<double(std::span<const double> x, std::span<double> gradient)>;

struct Minimum {
  std::vector<double> x;
  double value = 0;  // not finite: the function is undefined at the start
};

// L-BFGS (Liu and Nocedal 1989) from x on. Each step is halved until the value falls as Armijo's rule asks. Stops
// if three steps in a row gain less than `least_gain`, if no step gains, or after `most_steps`. Throws Interrupted
// after a signal.
Minimum minimise(const SmoothFunction& function, std::vector<double> x, double least_gain, int most_steps);

// A model's states: those before the first row, then the one after each row added so far. Requires of a Model: State; before(),
// the states before the first row; next(past, y), the state after a further row; forecast(past, to). For deviations():
// deviations(past, to).
template <class Model>
class States {
 public:
  explicit States(Model model) : model_(std::move(model)), states_(model_.before()), begin_(states_.size()) {}
  int64_t rows() const { return static_cast<int64_t>(states_.size() - begin_); }
  void add(double y) { states_.push_back(model_.next(states_, y)); }
  // Forecasts the rows after the first `rows` rows.
  void forecast(int64_t rows, std::span<double> to) const { model_.forecast(after(rows), to); }
  // The standard deviation of the errors of these forecasts.
  void deviations(int64_t rows, std::span<double> to) const { model_.deviations(after(rows), to); }

 private:
  auto after(int64_t rows) const {
    require(rows >= 0 && rows <= this->rows(), "states: after {} rows of {}", rows, this->rows());
    return std::span(states_).first(begin_ + static_cast<std::size_t>(rows));
  }
  Model model_;
  std::vector<typename Model::State> states_;
  std::size_t begin_;
};

}  // namespace unroll
