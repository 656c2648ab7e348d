// The LSTM's fast engine: one product for the inputs of all steps, and a recurrent product and a pass over the gates per step,
// or one kernel for all steps. the cell itself stands in framework/kernels/cpu/lstm_cell.cpp.
#include "layers/recurrent/engines/fused/lstm_window.h"

namespace unroll {

using namespace fused;

// For t = 0 … T-1, gates a_t [batch, 4*hidden] in order i f g o; or [batch, 3*hidden], f g o, with i = 1 - f:
//   a_t = x_t W_ihᵀ + b + h_{t-1} W_hhᵀ;   i f o = σ(a), g = tanh(a)
//   c_t = f c_{t-1} + i g;   h_t = o tanh(c_t)
// and back, for t = T-1 … 0:
//   dh_t = dy_t + da_{t+1} W_hh;   (da_t, dc_{t-1}) = cell's gradient of (dh_t, dc_t)
//   dx = da W_ih     dW_ih = daᵀ x     dW_hh = Σ_t da_tᵀ h_{t-1}     db = Σ da
RecurrentOutput LstmCell::fused(const Var& x, const RecurrentVars& state, const RecurrentMasks& masks) const {
  PartInLane lane(masks.part, PartInLane::Way::forward);
  const auto window =
      std::allocate_shared<LstmLayerWindow>(PoolAllocator<LstmLayerWindow>(), *this, x, state, masks);
  auto plan = plan_of_one_kernel(*window);
  if (!forward_with_other_layer(window)) {
    if (plan && !forward_in_one_kernel(*window, *plan)) plan.reset();
    if (!plan) forward_by_steps(*window, lane);
  }
  const auto outputs =
      record<3>("lstm_layer_fused", window->outputs(), inputs(masks.weights->all, x, state.h, state.c),
                [window, plan](const Var& y, const Var& h_last, const Var& c_last) {
                  if (backward_with_other_layer(*window, y, h_last, c_last)) return;
                  PartInLane lane(window->masks.part, PartInLane::Way::back);
                  LstmBackward back(*window, y, h_last, c_last);
                  if (!plan || !backward_in_one_kernel(back, *plan)) backward_by_steps(back, lane);
                });
  keep_outputs(*window, outputs);
  return {outputs[0], {outputs[1], outputs[2]}};
}

// The state before the step is not needed again: it is overwritten.
void LstmCell::plain_step(const Tensor& x, Tensor h, Tensor c, Tensor gates) const {
  gemm(x, transposed(weight_ih.value()), bias.value(), gates);
  gemm(h, transposed(weight_hh.value()), add_to(gates));
  kernels().lstm_cell({.batch = h.rows(),
                       .hidden = h.cols(),
                       .gates = gates.data(),
                       .c_prev = c.data(),
                       .c = c.data(),
                       .h = h.data()});
}

}  // namespace unroll
