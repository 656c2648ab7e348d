// See fitting.h.
#include "examples/timeseries/baselines/fitting.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>

#include "framework/check.h"
#include "framework/signals.h"

namespace unroll {
namespace {

using Numbers = std::vector<double>;

double dot(const Numbers& a, const Numbers& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}
void add(Numbers& to, double factor, const Numbers& of) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * of[i];
}

// A past step, and its change of the gradient.
struct Pair {
  Numbers step, change;
  double product;  // of step and change
};

// The direction of descent: minus the gradient times the inverse Hessian that the pairs approximate.
Numbers direction_of(const Numbers& gradient, const std::deque<Pair>& pairs) {
  Numbers d = gradient;
  Numbers shares(pairs.size());
  for (std::size_t k = pairs.size(); k-- > 0;) {
    shares[k] = dot(pairs[k].step, d) / pairs[k].product;
    add(d, -shares[k], pairs[k].change);
  }
  if (!pairs.empty())
    for (double& value : d) value *= pairs.back().product / dot(pairs.back().change, pairs.back().change);
  for (std::size_t k = 0; k < pairs.size(); ++k)
    add(d, shares[k] - dot(pairs[k].change, d) / pairs[k].product, pairs[k].step);
  for (double& value : d) value = -value;
  return d;
}

}  // namespace

double FittedRows::count() const {
  return static_cast<double>(y.size()) -
         static_cast<double>(std::ranges::count_if(filled, [](uint8_t f) { return f != 0; }));
}

bool FittedRows::is_constant() const { return std::ranges::adjacent_find(y, std::not_equal_to()) == y.end(); }

double aicc(double log_likelihood, double parameters, double n) {
  return -2 * log_likelihood + 2 * parameters + 2 * parameters * (parameters + 1) / (n - parameters - 1);
}

std::vector<double> least_squares(std::span<double> x, std::span<double> y, int columns) {
  const std::size_t n = y.size(), k = static_cast<std::size_t>(columns);
  require(columns >= 1 && x.size() == n * k, "least squares: {} numbers for {} rows of {}", x.size(), n,
          columns);
  const auto at = [&](std::size_t row, std::size_t column) -> double& { return x[row * k + column]; };
  const auto length = [&](std::size_t from, std::size_t column) {
    double sum = 0;
    for (std::size_t i = from; i < n; ++i) sum += at(i, column) * at(i, column);
    return std::sqrt(sum);
  };
  std::vector<double> whole(k);
  for (std::size_t j = 0; j < k; ++j) whole[j] = length(0, j);

  // Column j is reflected onto the unit vector of row `rank`: a + v (vᵀa) / (v₀ d), v = a - d e.
  std::vector<std::size_t> pivots;
  std::vector<double> v(n), projection(k);
  for (std::size_t j = 0; j < k && pivots.size() < n; ++j) {
    stop_if_signalled();
    const std::size_t rank = pivots.size();
    const double rest = length(rank, j);
    if (!(rest > 1e-10 * whole[j])) continue;
    const double d = at(rank, j) > 0 ? -rest : rest;  // the sign that does not cancel
    for (std::size_t i = rank; i < n; ++i) v[i] = at(i, j);
    v[rank] -= d;
    const double divisor = v[rank] * d;
    // Goes row by row, as the matrix is stored.
    projection.assign(k, 0);
    double of_y = 0;
    for (std::size_t i = rank; i < n; ++i) {
      for (std::size_t c = j; c < k; ++c) projection[c] += v[i] * at(i, c);
      of_y += v[i] * y[i];
    }
    for (std::size_t i = rank; i < n; ++i) {
      const double factor = v[i] / divisor;
      for (std::size_t c = j; c < k; ++c) at(i, c) += factor * projection[c];
      y[i] += factor * of_y;
    }
    pivots.push_back(j);
  }

  std::vector<double> w(k, 0);
  for (std::size_t rank = pivots.size(); rank-- > 0;) {
    double left = y[rank];
    for (std::size_t later = rank + 1; later < pivots.size(); ++later)
      left -= at(rank, pivots[later]) * w[pivots[later]];
    w[pivots[rank]] = left / at(rank, pivots[rank]);
  }
  return w;
}

Minimum minimise(const SmoothFunction& function, Numbers x, double least_gain, int most_steps) {
  constexpr std::size_t memory = 10;
  constexpr int most_halvings = 40;
  Numbers gradient(x.size()), next_gradient(x.size());
  Minimum best{std::move(x), 0};
  best.value = function(best.x, gradient);
  std::deque<Pair> pairs;
  int small = 0;  // small gains in a row
  for (int step = 0; step < most_steps && std::isfinite(best.value); ++step) {
    stop_if_signalled();
    Numbers direction = direction_of(gradient, pairs);
    double slope = dot(gradient, direction);
    if (!(slope < 0)) {
      if (pairs.empty()) break;
      pairs.clear();
      continue;
    }
    double length = pairs.empty() ? std::min(1.0, 1 / std::sqrt(dot(gradient, gradient))) : 1;
    Numbers next;
    double value = 0;
    bool found = false;
    int halvings = 0;
    for (; halvings < most_halvings && !found; ++halvings, length /= 2) {
      next = best.x;
      add(next, length, direction);
      value = function(next, halvings == 0 ? std::span(next_gradient) : std::span<double>());
      found = std::isfinite(value) && value <= best.value + 1e-4 * length * slope;
    }
    if (!found) {
      if (pairs.empty()) break;
      pairs.clear();
      continue;
    }
    if (halvings > 1) function(next, next_gradient);
    Pair pair{next, next_gradient, 0};
    add(pair.step, -1, best.x), add(pair.change, -1, gradient);
    pair.product = dot(pair.step, pair.change);
    if (pair.product > 1e-12 * std::sqrt(dot(pair.step, pair.step) * dot(pair.change, pair.change))) {
      pairs.push_back(std::move(pair));
      if (pairs.size() > memory) pairs.pop_front();
    }
    const double gain = best.value - value;
    best.x = std::move(next), best.value = value;
    gradient.swap(next_gradient);
    small = gain < least_gain ? small + 1 : 0;
    if (small == 3) break;
  }
  return best;
}

}  // namespace unroll
