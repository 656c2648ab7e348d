// One kernel each way for all steps of a window, if the recurrent weights fit the GPU (layers/recurrent/persistent.h).
#include <algorithm>
#include <atomic>
#include <cstdio>

#include "framework/kernels/lstm_window.h"
#include "layers/recurrent/engines/fused/lstm_window.h"
#include "layers/recurrent/persistent.h"

namespace unroll::fused {

namespace {

constexpr const char* persistent_row = "recurrent: persistent kernel";

// Spreads the resets over all steps, since the kernel treats steps alike.
Resets at_each_step(Resets resets) {
  if (!resets.kept.defined()) return resets;
  resets.at = IdTensor({resets.kept.dim(0)});
  std::ranges::fill(resets.at.span(), 1);
  return resets;
}

// In the precision in use, where there is a plan.
const LstmWindowKernels& window_kernels() {
  const PersistentKernels& all = *persistent_kernels();
  return precision() == Precision::tf32 ? all.tf32 : precision() == Precision::bf16 ? all.bf16 : all.fp16;
}

std::atomic<bool> refused = false;

// Says once that the GPU did not take the blocks.
bool refuse(const PersistentPlan& plan) {
  if (!refused.exchange(true))
    std::fprintf(
        stderr,
        "note: the GPU does not take the %d blocks of the persistent kernel at once; recurrent layers go step by step\n",
        static_cast<int>(plan.blocks));
  return false;
}

}  // namespace

std::optional<PersistentPlan> plan_of_one_kernel(const LstmLayerWindow& w) {
  if (refused || w.masks.part || w.layer.step_by_step || w.projects() || has(w.layer.norm_hh) || w.mogrified)
    return {};
  return persistent_plan_here(
      {.hidden = w.hidden, .gates = w.layer.weight_hh.dim(0) / w.hidden, .batch = w.batch, .steps = w.steps});
}

bool forward_in_one_kernel(LstmLayerWindow& w, const PersistentPlan& plan) {
  w.h_options.resets = w.c_options.resets = at_each_step(w.masks.resets);
  LstmForward go(w, Multiplied::as_floats, Tensor());
  const Tensor weight_hh = w.weight_hh(), bias = w.bias_of_x();
  const RoundedTensor rounded_hh = w.rounded_weight_hh();
  const Profile::Within measured(persistent_row);
  const auto step = [&](int t) {
    LstmStep s = go.step(t);
    s.h_on = go.h.after(t);
    return s;
  };
  if (window_kernels().forward({.plan = plan,
                                .steps = w.steps,
                                .first = step(0),
                                .second = step(1),
                                .weight_hh = weight_hh.data(),
                                .rounded_weight_hh = rounded_hh.copy().data,
                                .bias = std::as_const(bias).data(),
                                .entering = go.h.entering(0).tensor.data()}))
    return true;
  w.h_options.resets = w.c_options.resets = w.masks.resets;
  return refuse(plan);
}

bool backward_in_one_kernel(LstmBackward& back, const PersistentPlan& plan) {
  const Tensor weight_hh = back.w.weight_hh();
  const RoundedTensor rounded_hh = back.w.rounded_weight_hh();
  const auto step = [&](int t) {
    LstmStep s = back.step(t);
    s.h_on = back.h.at(t);
    return s;
  };
  {
    const Profile::Within measured(persistent_row);
    if (!window_kernels().backward({.plan = plan,
                                    .steps = back.w.steps,
                                    .first = step(0),
                                    .second = step(1),
                                    .weight_hh = weight_hh.data(),
                                    .rounded_weight_hh = rounded_hh.copy().data,
                                    .dh = back.dout.data(),
                                    .dc = back.dc.data(),
                                    .gradient_of_entering = back.w.h0.wants_grad()}))
      return refuse(plan);
  }
  back.contribute();
  return true;
}

}  // namespace unroll::fused
