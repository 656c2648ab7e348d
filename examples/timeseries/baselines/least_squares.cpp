// See least_squares.h.
#include "examples/timeseries/baselines/least_squares.h"

#include <cmath>

#include "framework/check.h"
#include "framework/signals.h"

namespace unroll {

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

}  // namespace unroll
