// An LSTM layer's arguments for a kernel that goes over all steps of a window, and what they hold until it is launched.
#pragma once

#include "layers/recurrent/engines/fused/lstm_window.h"
#include "layers/recurrent/engines/fused/one_kernel.h"

namespace unroll::fused {

struct ForwardInKernel {
  // elsewhere: x's product is not made here.
  explicit ForwardInKernel(LstmLayerWindow& w, bool elsewhere = false)
      : go(with_resets(w), Multiplied::as_floats, Tensor(), elsewhere),
        weight_hh(w.weight_hh()),
        bias(w.bias_of_x()),
        rounded_hh(w.rounded_weight_hh()) {}
  LstmWindow window(const PersistentPlan& plan) {
    return {.plan = plan,
            .steps = go.w.steps,
            .first = step(0),
            .second = step(1),
            .weight_hh = weight_hh.data(),
            .rounded_weight_hh = rounded_hh.copy().data,
            .bias = std::as_const(bias).data(),
            .entering = go.h.entering(0).tensor.data()};
  }

  LstmForward go;
  const Tensor weight_hh, bias;
  const RoundedTensor rounded_hh;

 private:
  static LstmLayerWindow& with_resets(LstmLayerWindow& w) {
    w.h_options.resets = w.c_options.resets = at_each_step(w.masks.resets);
    return w;
  }
  LstmStep step(int t) {
    LstmStep s = go.step(t);
    s.h_on = go.h.after(t);
    return s;
  }
};

struct BackwardInKernel {
  explicit BackwardInKernel(LstmBackward& going_back)
      : back(going_back), weight_hh(back.w.weight_hh()), rounded_hh(back.w.rounded_weight_hh()) {}
  LstmWindow window(const PersistentPlan& plan) {
    return {.plan = plan,
            .steps = back.w.steps,
            .first = step(0),
            .second = step(1),
            .weight_hh = weight_hh.data(),
            .rounded_weight_hh = rounded_hh.copy().data,
            .dh = back.dout.data(),
            .gradient_of_entering = back.w.h0.wants_grad(),
            .carried = back.dc.data()};
  }

  LstmBackward& back;
  const Tensor weight_hh;
  const RoundedTensor rounded_hh;

 private:
  LstmStep step(int t) {
    LstmStep s = back.step(t);
    s.h_on = back.h.at(t);
    return s;
  }
};

}  // namespace unroll::fused
