// The cost of each option of a recipe's recurrent layers, measured on this machine.
#pragma once

#include <string>
#include <vector>

#include "examples/ptb/model/recipe.h"

namespace ptb {

struct LayerOptionCost {
  std::string option, value = {};  // "zoneout_h", "0.5"
  double held = 0;  // bytes from forward to backward beyond the plain layers', of a window, all layers
  double time = 0;  // forward and backward of a window, as a multiple of the plain layers' time
  std::string how = {};
};

// The costs of each option alone, and last of all together. Measures only the recurrent layers, at most two, in windows
// of the recipe's size. The variants take turns as goes_on() says; the best time of each counts.
struct LayerCosts {
  std::vector<LayerOptionCost> options;
  int layers = 0, rounds = 0;  // that were measured
};
LayerCosts measure_layer_costs(const Recipe& recipe);
// Whether to measure another round after `rounds` that took so many seconds together: at least two rounds and two seconds,
// but one round alone if it took ten.
constexpr bool goes_on(int rounds, double seconds) { return rounds == 0 || seconds < (rounds == 1 ? 10 : 2); }

}  // namespace ptb
