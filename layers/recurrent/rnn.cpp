#include "layers/recurrent/rnn.h"

#include "layers/recurrent/engines/fused/state_of_h.h"

namespace unroll {

using namespace fused;

RnnCell::RnnCell(const LayerScope& scope)
    : weight_ih(scope.add("weight_ih", {scope.hidden, scope.input}).var()),
      weight_hh(scope.add("weight_hh", {scope.hidden, scope.hidden}).var()),
      bias(scope.add("bias", {scope.hidden}).var()),
      nonlinearity(scope.config.nonlinearity) {}

RecurrentVars RnnCell::step(const Var& x, const Var& h_in, const RecurrentVars&) const {
  return {unary(nonlinearity, linear(x, weight_ih, bias) + linear(h_in, weight_hh)), {}};
}

// --- the engine fused (engines/fused/state_of_h.h) --------------------------------------------------

namespace {

// For t = 0 … T-1, sums a_t [batch, hidden]:
//   a_t = x_t W_ihᵀ + b + h_{t-1} W_hhᵀ;   h_t = f(a_t)
// and back, for t = T-1 … 0:
//   da_t = f'(a_t) dh_t;   dh_{t-1} = dy_{t-1} + da_t W_hh
//   dx = da W_ih     dW_ih = daᵀ x     dW_hh = Σ_t da_tᵀ h_{t-1}     db = Σ da
struct RnnPass {
  static constexpr bool one_sum = true;
  const RnnCell layer;
  const Tensor of_x,
      of_h = of_x;  // [steps, batch, hidden], overwritten: sums, then f of them, then their gradients

  RnnStep step(int t, Tensor h, const HandOn& on) const {
    Tensor sums = of_x[t];
    return {.batch = h.dim(0),
            .hidden = h.dim(1),
            .f = layer.nonlinearity,
            .sums = sums.data(),
            .h = h.data(),
            .h_on = on};
  }
  void forward(int t, const Tensor&, const Tensor& h, const HandOn& on) const {
    kernels().rnn_cell(step(t, h, on));
  }
  // The functions' slopes follow from their values.
  void backward(int t, const Tensor&, const Tensor& h, const HandOn& on, const RoundedCopy& rounded,
                Tensor dh, const Tensor&) const {
    RnnStep s = step(t, h, on);
    s.rounded_sums = rounded;
    kernels().rnn_cell_gradient(s, dh.data());
  }
  void forward(const FewRowsPass& few, int t, const Tensor&, const Tensor& h, const HandOn& on) const {
    few.kernels.rnn_cell(few.product, step(t, h, on), few.bias);
  }
  void backward(const FewRowsPass& few, int t, const Tensor&, const Tensor& h, const HandOn& on,
                const RoundedCopy& rounded, const Tensor&) const {
    RnnStep s = step(t, h, on);
    s.rounded_sums = rounded;
    few.kernels.rnn_cell_gradient(few.product, s, few.before);
  }
  void contribute() const {}
};

}  // namespace

RecurrentOutput RnnCell::fused(const Var& x, const RecurrentVars& state, const RecurrentMasks& masks) const {
  PartInLane lane(masks.part, PartInLane::Way::forward);
  const Tensor sums({x.dim(0), x.dim(1), state.h.dim(1)});
  return over_window("rnn_layer_fused", RnnPass{*this, sums}, x, state.h, masks, lane);
}

// The state before the step is not needed again: it is overwritten.
void RnnCell::plain_step(const Tensor& x, Tensor h, Tensor, Tensor room) const {
  gemm(x, transposed(weight_ih.value()), bias.value(), room);
  gemm(h, transposed(weight_hh.value()), add_to(room));
  kernels().unary(nonlinearity, room.data(), h.data(), h.size());
}

template class Recurrent<RnnCell>;

}  // namespace unroll
