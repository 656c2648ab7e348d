// Linear least squares, for the baselines.
#pragma once

#include <span>
#include <vector>

namespace unroll {

// The w that minimises |X w - y|², X [y.size(), columns] row-major, both overwritten. Householder's QR. A
// column that depends on those before it (to 1e-10 of its length) gets the coefficient 0.
std::vector<double> least_squares(std::span<double> x, std::span<double> y, int columns);

}  // namespace unroll
