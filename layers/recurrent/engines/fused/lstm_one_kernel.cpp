// One kernel each way for all steps of a window, if the recurrent weights fit the GPU (layers/recurrent/persistent.h).
#include <algorithm>

#include "framework/kernels/lstm_window.h"
#include "layers/recurrent/engines/fused/lstm_way.h"
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

class OneKernel final : public LstmWay {
 public:
  explicit OneKernel(const PersistentPlan& plan) : plan_(plan) {}

  void forward(LstmLayerWindow& w, PartInLane&) const override {
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
    persistent_kernels_in(precision())
        .forward({.plan = plan_,
                  .steps = w.steps,
                  .first = step(0),
                  .second = step(1),
                  .weight_hh = weight_hh.data(),
                  .rounded_weight_hh = rounded_hh.copy().data,
                  .bias = std::as_const(bias).data(),
                  .entering = go.h.entering(0).tensor.data()});
  }

  void backward(LstmBackward& back, PartInLane&) const override {
    const Tensor weight_hh = back.w.weight_hh();
    const RoundedTensor rounded_hh = back.w.rounded_weight_hh();
    const auto step = [&](int t) {
      LstmStep s = back.step(t);
      s.h_on = back.h.at(t);
      return s;
    };
    {
      const Profile::Within measured(persistent_row);
      persistent_kernels_in(precision())
          .backward({.plan = plan_,
                     .steps = back.w.steps,
                     .first = step(0),
                     .second = step(1),
                     .weight_hh = weight_hh.data(),
                     .rounded_weight_hh = rounded_hh.copy().data,
                     .dh = back.dout.data(),
                     .dc = back.dc.data(),
                     .gradient_of_entering = back.w.h0.wants_grad()});
    }
    back.contribute();
  }

 private:
  const PersistentPlan plan_;
};

}  // namespace

std::shared_ptr<const LstmWay> one_kernel(const LstmLayerWindow& w) {
  if (w.masks.part || w.layer.step_by_step || w.projects() || has(w.layer.norm_hh) || w.mogrified)
    return nullptr;
  const auto plan = persistent_plan_here(
      {.hidden = w.hidden, .gates = w.layer.weight_hh.dim(0) / w.hidden, .batch = w.batch, .steps = w.steps});
  return plan ? std::allocate_shared<OneKernel>(PoolAllocator<OneKernel>(), *plan) : nullptr;
}

}  // namespace unroll::fused
