// One kernel each way for all steps of a window, if the recurrent weights fit the GPU (layers/recurrent/persistent.h).
#include "layers/recurrent/engines/fused/lstm_one_kernel.h"

#include <atomic>
#include <cstdio>

#include "layers/recurrent/persistent.h"

namespace unroll::fused {

namespace {
std::atomic<bool> refused = false;
}  // namespace

bool one_kernel_was_refused() { return refused; }
bool refuse_one_kernel(const PersistentPlan& plan) {
  if (!refused.exchange(true))
    std::fprintf(
        stderr,
        "note: the GPU does not take the %d blocks of the persistent kernel at once; recurrent layers go step by step\n",
        static_cast<int>(plan.blocks));
  return false;
}

std::optional<PersistentPlan> plan_of_one_kernel(const LstmLayerWindow& w) {
  if (refused || w.masks.part || w.layer.step_by_step || w.projects() || w.mogrified) return {};
  return persistent_plan_here({.hidden = w.hidden,
                               .gates = w.layer.weight_hh.dim(0) / w.hidden,
                               .batch = w.batch,
                               .steps = w.steps,
                               .layer_norm = has(w.layer.norm_hh)});
}

static const WindowKernels<LstmWindow>& window_kernels_for(const LstmLayerWindow& w) {
  return in_this_precision(has(w.layer.norm_hh) ? persistent_lstm_norm() : persistent_lstm());
}

bool forward_in_one_kernel(LstmLayerWindow& w, const PersistentPlan& plan) {
  ForwardInKernel forward(w);
  const Profile::Within measured(one_kernel_row);
  if (window_kernels_for(w).forward(forward.window(plan))) return true;
  return refuse_one_kernel(plan);
}

bool backward_in_one_kernel(LstmBackward& back, const PersistentPlan& plan) {
  BackwardInKernel backward(back);
  {
    const Profile::Within measured(one_kernel_row);
    if (!window_kernels_for(back.w).backward(backward.window(plan))) return refuse_one_kernel(plan);
  }
  back.contribute();
  return true;
}

}  // namespace unroll::fused
