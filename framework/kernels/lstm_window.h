// The recurrence of an LSTM layer over a window in one launch, on a GPU whose shared memory holds the recurrent weights.
#pragma once

#include "framework/kernels/kernels.h"
#include "framework/kernels/persistent.h"

namespace unroll {

// Does the work of a loop with a product and lstm_cell in each step. Its options are those of the step, except norms.
struct LstmWindow {
  static constexpr int64_t least_steps = 3;  // so that steps 0 and 1 are like all but the last

  PersistentPlan plan;
  int64_t steps;
  // Steps 0 and 1: in each further step a pointer advances by the difference between the two. HandOn's pointers for the step
  // after the last are never read. Its rounded copies are null: what enters a product, or comes of one, stays in the kernel.
  LstmStep first, second;
  const real* weight_hh;                    // [gates·hidden, hidden]
  const void* rounded_weight_hh = nullptr;  // the same in the kernel's 16 bits, if there is such a copy
  // Forward: [gates·hidden], added to the sums before the recurrent product is; null: it is in them.
  const real* bias = nullptr;
  // Forward: h [batch, hidden] as it enters the product of step 0.
  const real* entering = nullptr;
  // Back: d of the last step's h and c at first; then d of c before step 0, and, if it is asked for, of h as it entered step 0.
  real *dh = nullptr, *dc = nullptr;
  bool gradient_of_entering = false;
};

// By the numbers that weights, h and gradients of gates are rounded to where they are multiplied. Both return false, and have
// done nothing, if the GPU does not take the plan's blocks at once: another process may have a part of it.
struct LstmWindowKernels {
  bool (*forward)(const LstmWindow&);
  bool (*backward)(const LstmWindow&);
};
struct PersistentKernels {
  LstmWindowKernels tf32, bf16, fp16;
};
const PersistentKernels* persistent_kernels();  // null: this build has none
// The compute capability that the code of these kernels is for, on the GPU in use: 90. Below 80 they have none.
int persistent_code();

}  // namespace unroll
