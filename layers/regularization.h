// Loss terms that keep the outputs of a recurrent layer small and slow (Merity, McCann and Socher, "Revisiting
// activation regularization for language RNNs", 2017).
//
//   auto [y, state] = lstm(x, before);
//   const Var dropped = output_dropout(y);
//   Var objective = loss + activation_regularization(dropped, 2) + temporal_activation_regularization(y, 1);
#pragma once

#include "framework/ops.h"
#include "layers/recurrent/state.h"

namespace unroll {

// alpha · mean(y²). y: outputs after dropout.
inline Var activation_regularization(const Var& y, real alpha) { return mean(y * y) * alpha; }

// beta · mean((y_t - y_{t-1})²); 0 for a single step. y: outputs [steps, …] before dropout.
// resets [steps, batch]: where a row starts anew, its change counts as 0. Undefined: no row starts anew.
inline Var temporal_activation_regularization(const Var& y, real beta, const IdTensor& resets = {}) {
  const int steps = y.dim(0);
  if (steps < 2) return Var(Tensor::zeros({}));
  const Var before = slice(y, 0, 0, steps - 1), after = slice(y, 0, 1, steps);
  Var change = after - before;
  if (resets.defined())
    if (const Resets at = resets_of(resets, {}, steps, y.dim(1)); at.kept.defined())
      change = mask_rows(change, at.kept.slice(1, steps));
  return mean(change * change) * beta;
}

}  // namespace unroll
