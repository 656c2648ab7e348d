// For kernels that go over all steps of a window: which there are, and whether the GPU takes them.
#pragma once

#include <algorithm>

#include "framework/gemm.h"
#include "framework/kernels/recurrent_window.h"
#include "layers/recurrent/state.h"

namespace unroll::fused {

// In the precision in use, where there is a plan.
template <class Window>
const WindowKernels<Window>& in_this_precision(const PersistentKernels<Window>* all) {
  return precision() == Precision::tf32 ? all->tf32 : precision() == Precision::bf16 ? all->bf16 : all->fp16;
}
// lstm_one_kernel.cpp: whether the GPU once did not take the blocks; and says so, the first time.
bool one_kernel_was_refused();
bool refuse_one_kernel(const PersistentPlan& plan);                            // false
inline constexpr const char* one_kernel_row = "recurrent: persistent kernel";  // of a profile

// Spreads the resets over all steps, since the kernel treats steps alike. If its launch is refused, steps go on with them: a row that
// does not begin anew is multiplied by 1.
inline Resets at_each_step(Resets resets) {
  if (!resets.kept.defined()) return resets;
  resets.at = IdTensor({resets.kept.dim(0)});
  std::ranges::fill(resets.at.span(), 1);
  return resets;
}

}  // namespace unroll::fused
