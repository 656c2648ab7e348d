// The least value of a smooth function of some numbers, for the baselines that are fitted.
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace unroll {

// The value at x, its slopes written to `gradient`; not finite where the function has none.
using SmoothFunction = std::function<double(std::span<const double> x, std::span<double> gradient)>;

struct Minimum {
  std::vector<double> x;
  double value = 0;  // not finite: the function has none at the beginning
};

// L-BFGS (Liu and Nocedal 1989) from x on, each step halved until the value falls as Armijo asks. Ends when three
// steps in a row gain less than `least_gain`, no step gains, or after `most_steps`. Throws Interrupted after a signal.
Minimum minimise(const SmoothFunction& function, std::vector<double> x, double least_gain, int most_steps);

}  // namespace unroll
