// A window's steps in one launch each way, where the recurrent weights fit the GPU (layers/recurrent/persistent.h).
#pragma once

#include <algorithm>

#include "framework/kernels/lstm_window.h"
#include "layers/recurrent/persistent.h"
#include "layers/recurrent/stack.h"

namespace unroll::fused {

inline constexpr const char* persistent_row = "recurrent: persistent kernel";

// The same resets, said of each step: to the kernel all steps are alike.
inline Resets at_each_step(Resets resets) {
  if (!resets.kept.defined()) return resets;
  resets.at = IdTensor({resets.kept.dim(0)});
  std::ranges::fill(resets.at.span(), 1);
  return resets;
}

}  // namespace unroll::fused
