// The recurrence of a layer over a window in one launch, on a GPU whose shared memory holds the recurrent weights.
#pragma once

#include "framework/kernels/kernels.h"
#include "framework/kernels/persistent.h"

namespace unroll {

// Does the work of a loop with a product and the cell in each step. Its options are those of the step.
template <class Step>
struct RecurrentWindow {
  static constexpr int64_t least_steps = 3;  // so that steps 0 and 1 are like all but the last

  PersistentPlan plan;
  int64_t steps;
  // Steps 0 and 1: in each further step a pointer advances by the difference between the two. HandOn's pointers for the step
  // after the last are never read. Its rounded copies are null: what enters a product, or comes of one, stays in the kernel.
  Step first, second;
  const real* weight_hh;                    // [gates·hidden, hidden]
  const void* rounded_weight_hh = nullptr;  // the same in the kernel's 16 bits, if there is such a copy
  // Forward: [gates·hidden], added to the sums before the recurrent product is; null: it is in them.
  const real* bias = nullptr;
  // Forward: h [batch, hidden] as it enters the product of step 0.
  const real* entering = nullptr;
  // Back: d of the last step's h at first; then, if it is asked for, of h as it entered step 0.
  real* dh = nullptr;
  bool gradient_of_entering = false;
  // Back: what a unit carries to its own step before. LSTM: d of c, of the last step's at first. GRU: d of h besides the product's.
  real* carried = nullptr;
};
using LstmWindow = RecurrentWindow<LstmStep>;
using GruWindow = RecurrentWindow<GruStep>;

// From the lower of two layers to the upper.
struct BetweenLayers {
  const real* weight_ih = nullptr;          // of the upper, [gates·hidden, hidden]
  const void* rounded_weight_ih = nullptr;  // as rounded_weight_hh
  // Dropout: factors [batch, hidden] for steps 0 and 1, as steps' pointers advance. Null: there is none.
  const real *mask = nullptr, *second_mask = nullptr;
  // Forward: x of the upper in steps 0 and 1, if it is not h of the lower; and a rounded copy of all steps.
  real *x = nullptr, *second_x = nullptr;
  RoundedCopy rounded_x = {};
};
// Two layers in one launch, with half of the processors each. The upper computes a step while the lower computes the next but one, so
// x of the upper is multiplied while blocks wait for each other. Their plans are one, for at most rows_at_once rows. Sums of the
// upper's gates need not be there before; its bias is added.
template <class Step>
struct WindowPair {
  RecurrentWindow<Step> lower, upper = {};
  BetweenLayers between = {};
};
using LstmPair = WindowPair<LstmStep>;

// Both return false, and have done nothing, if the GPU does not take the plan's blocks at once: another process may have a part
// of it.
template <class Window>
struct WindowKernels {
  bool (*forward)(const Window&);
  bool (*backward)(const Window&);
};
// By the numbers that weights, h and gradients of gates are rounded to where they are multiplied.
template <class Window>
struct PersistentKernels {
  WindowKernels<Window> tf32, bf16, fp16;
};
// null: this build has none
const PersistentKernels<LstmWindow>* persistent_lstm();
const PersistentKernels<LstmWindow>*
persistent_lstm_norm();  // with layer norm, for at most rows_at_once rows
const PersistentKernels<LstmPair>* persistent_lstm_pair();
const PersistentKernels<GruWindow>* persistent_gru();
// The compute capability that the code of these kernels is for, on the GPU in use: 90. Below 80 they have none.
int persistent_code();

}  // namespace unroll
