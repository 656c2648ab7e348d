// Minimises a smooth function of several numbers, for baselines that are fitted.
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace unroll {

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

}  // namespace unroll
