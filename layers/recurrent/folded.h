// Whether the engine `fused` folds an LSTM's projection into its recurrent weights, on a GPU.
//
// A projection makes a step two products, one after the other: h = W_hr·out, out what the cell gives, and W_hh·h. Where nothing
// acts on h from step to step but resets, the second is (W_hh·W_hr)·out. So that product of weights is made once a window, a step
// is one product and one kernel, as without a projection, and h is a product of a chunk's steps.
#pragma once

#include "layers/recurrent/options.h"

namespace unroll {

constexpr int most_folded = 2048;  // units: their folded weights are 67 MB of floats
constexpr bool folds_projection(int hidden, int steps) { return hidden <= most_folded && steps > 1; }
// By its options. steps = 0: not known, taken for enough.
inline bool folds_projection(const RecurrentConfig& config, const WindowFacts& window) {
  return config.projection && !config.mogrifier && config.recurrent_dropout == 0 && config.zoneout_h == 0 &&
         window.lengths == WindowFacts::Lengths::none &&
         folds_projection(config.hidden, window.steps > 0 ? window.steps : 2);
}

}  // namespace unroll
