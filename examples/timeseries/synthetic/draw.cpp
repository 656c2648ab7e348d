#include "examples/timeseries/synthetic/draw.h"

namespace unroll::synthetic {

// Marsaglia and Tsang 2000; below a shape of 1 by the power of a uniform number.
double Draw::gamma(double shape) {
  if (shape < 1) {
    const double power = std::pow(1 - random_.uniform(), 1 / shape);
    return power * gamma(shape + 1);
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = random_.normal(), root = 1 + c * x, v = root * root * root;
    if (v > 0 && std::log(1 - random_.uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

double Draw::student(double freedom) {
  const double squares = 2 * gamma(freedom / 2);
  return normal() * std::sqrt((freedom - 2) / std::max(squares, 1e-6));
}

// Knuth 1969: uniform numbers are multiplied until they fall below e^-mean.
double Draw::poisson(double mean) {
  if (mean > 60) return std::max(0.0, std::round(mean + std::sqrt(mean) * normal()));
  const double end = std::exp(-mean);
  int count = 0;
  for (double product = 1 - random_.uniform(); product > end; ++count) product *= 1 - random_.uniform();
  return count;
}

int Draw::geometric(double success) {
  return 1 + static_cast<int>(std::min(1e6, exponential() / -std::log1p(-success)));
}

}  // namespace unroll::synthetic
