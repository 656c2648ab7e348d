// The cost of each option of a recipe's recurrent layers: arithmetic and memory as derived from its
// definition, time as measured on this machine.
#pragma once

#include <string>
#include <vector>

#include "recipe.h"

namespace ptb {

struct LayerOptionCost {
  std::string option, value = {};  // "zoneout_h", "0.5"
  double operations = 0;           // on single numbers: forward, per token, all layers
  double held = 0;                 // bytes from forward to backward, of a window, all layers
  double time = 0;  // forward and backward of a window, as a multiple of the plain layers' time
  std::string how = {};
};

// Each option that is set by itself, and last all of them together. Time is that of
// the recurrent layers alone, two of them at most, in windows of the recipe's size: all take turns, twice and
// for two seconds at least, and the best of each counts.
struct LayerCosts {
  std::vector<LayerOptionCost> options;
  int layers = 0, rounds = 0;  // that were measured
};
LayerCosts measure_layer_costs(const Recipe& recipe);

}  // namespace ptb
