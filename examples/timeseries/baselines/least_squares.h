// Linear least squares, for the baselines.
#pragma once

#include <span>
#include <vector>

namespace unroll {

// The w that minimises |X w - y|² by Householder's QR. X [y.size(), columns] is row-major; X and y are overwritten.
// A column that depends on earlier ones (to 1e-10 of its length) gets the coefficient 0.
std::vector<double> least_squares(std::span<double> x, std::span<double> y, int columns);

}  // namespace unroll
