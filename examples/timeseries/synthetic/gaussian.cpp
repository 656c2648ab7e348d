// Gaussian processes by composed kernels.
#include <numbers>

#include "examples/timeseries/synthetic/kinds.h"
#include "examples/timeseries/synthetic/parts.h"

namespace unroll::synthetic {

double Kernel::frequency(Draw& draw) const {
  if (form == periodic) {  // the weights of its harmonics have Skellam's distribution
    const double half = 0.5 / (length * length), up = draw.poisson(half);
    return 2 * std::numbers::pi * (up - draw.poisson(half)) / period;
  }
  // A rational kernel mixes smooth ones, whose inverse squared lengths are Gamma numbers.
  const double inverse = form == rational ? draw.gamma(shape) / shape : 1;
  return draw.normal(std::sqrt(inverse) / length);
}

namespace {

// Adds height Σ √(2/n) cos(ω t + phase) for n random ω.
void add_features(Draw& draw, Values& y, double height, const std::vector<Kernel>& product) {
  constexpr int features = 48;
  for (int k = 0; k < features; ++k) {
    double omega = 0;
    for (const Kernel& factor : product) omega += factor.frequency(draw);
    const double phase = draw.uniform(0, 2 * std::numbers::pi),
                 amplitude = height * std::sqrt(2.0 / features);
    const double turn = std::cos(omega), rise = std::sin(omega);  // a row turns (c, s) by ω
    double c = amplitude * std::cos(phase), s = amplitude * std::sin(phase);
    for (double& v : y) v += c, s = s * turn + std::exchange(c, c * turn - s * rise) * rise;
  }
}

}  // namespace

// A product of kernels is the sum of their frequencies. So a series costs rows × features, where a Cholesky decomposition costs
// rows³. One to three terms are added; a term is a product of one or two stationary kernels, and in one of four of a linear one.
Path gaussian(Draw& draw, int rows) {
  const int m = calendar_season(draw, rows);
  bool has_season = false;
  Values y = noise(draw, rows, {0.01, 0.7});
  for (int terms = draw.between(1, 3); terms > 0; --terms) {
    std::vector<Kernel> product(draw.chance(0.35) ? 2 : 1);
    for (Kernel& k : product) {
      k.form = draw.choose<Kernel::Form>({{Kernel::smooth, 4}, {Kernel::rational, 2}, {Kernel::periodic, 4}});
      k.length = draw.of(k.form == Kernel::periodic ? Range{0.3, 2} : Range{2, 2.0 * rows});
      k.shape = draw.of({0.3, 5}), k.period = m;
      has_season |= k.form == Kernel::periodic;
    }
    Values term(rows);
    const double height = draw.of({0.2, 2});
    add_features(draw, term, height, product);
    if (draw.chance(0.25)) {
      const double zero = draw.uniform(-0.5, 1.5) * rows;
      for (int t = 0; t < rows; ++t) term[t] *= 2 * (t - zero) / rows;
    }
    add(y, term);
  }
  if (draw.chance(0.2)) {  // a linear kernel by itself is a line
    const double slope = draw.normal(2) / rows;
    for (int t = 0; t < rows; ++t) y[t] += slope * t;
  }
  return {y, has_season ? m : 1};
}

}  // namespace unroll::synthetic
