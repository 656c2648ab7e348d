// See minimise.h.
#include "examples/timeseries/baselines/minimise.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>

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
