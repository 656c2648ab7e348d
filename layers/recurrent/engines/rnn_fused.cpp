// The plain network's fast engine, as the LSTM's: one product for the inputs of all steps, and per step a recurrent product and
// the function of its sums, which is a kernel of single elements.
#include "layers/recurrent/engines/fused/mogrifier.h"
#include "layers/recurrent/engines/fused/options.h"
#include "layers/recurrent/rnn.h"

namespace unroll {

using namespace fused;

// For t = 0 … T-1, sums a_t [batch, hidden]:
//   a_t = x_t W_ihᵀ + b + h_{t-1} W_hhᵀ;   h_t = f(a_t)
// and back, for t = T-1 … 0:
//   da_t = f'(a_t) dh_t;   dh_{t-1} = dy_{t-1} + da_t W_hh
//   dx = da W_ih     dW_ih = daᵀ x     dW_hh = Σ_t da_tᵀ h_{t-1}     db = Σ da
RecurrentOutput RnnCell::fused(const Var& x, const RecurrentVars& state, const RecurrentMasks& masks,
                               const Mogrifier& mogrifier) const {
  const RnnCell& layer = *this;  // the closure has a copy
  const Var h0 = state.h;
  const int steps = x.dim(0), batch = x.dim(1), hidden = h0.dim(1);

  Tensor sums({steps, batch, hidden});   // overwritten: sums, then f of them, then their gradients
  Tensor h({steps + 1, batch, hidden});  // h[0] is the state before the first step
  h[0].copy_from(h0.value());
  const Carried carried_h{masks.new_h};

  const Mogrified mogrified(mogrifier, x, layer.weight_ih, hidden);
  MogrifierForward mogrify(mogrified);
  if (!mogrified) gemm(x.value(), transposed(layer.weight_ih.value()), layer.bias.value(), sums);
  const StepWeights recurrent(transposed(dropped(layer.weight_hh.value(), masks.weight_hh)), steps);
  for (int t = 0; t < steps; ++t) {
    const Tensor h_before = met_at(t, h[t], masks.resets);
    const Tensor h_in = mogrify(t, masked(h_before, masks.h), layer.bias.value(), sums[t]);
    gemm(h_in, recurrent, add_to(sums[t]));
    Tensor computed = sums[t];
    kernels().unary(layer.nonlinearity, computed.data(), computed.data(), computed.size());
    h[t + 1].copy_from(computed);
    carried_h.forward(t, computed, h_before, h[t + 1]);
  }

  auto [y_out, h_out] = record<2>(
      "rnn_layer_fused", std::array{h.slice(1, steps + 1), h[steps].clone()}, inputs(layer.weights(), x, h0),
      [=](const Var& y, const Var& h_last) mutable {
        Tensor dh = h_last.grad().clone();
        Carried carried_h{masks.new_h};
        MogrifierBackward mogrify(mogrified, masked(met(h, masks.resets), masks.h));  // h as it entered
        const StepWeights recurrent(dropped(layer.weight_hh.value(), masks.weight_hh), steps);
        for (int t = steps - 1; t >= 0; --t) {
          if (y.has_grad()) kernels().affine(y.grad()[t].data(), 1, 0, dh.data(), dh.size(), true);
          carried_h.split(t, dh);
          Tensor of_t = sums[t];  // the slopes of both functions follow from their values
          kernels().unary_gradient(layer.nonlinearity, of_t.data(), of_t.data(), dh.data(), of_t.data(),
                                   of_t.size(), false);
          if (t > 0 || h0.wants_grad() || mogrified) gemm(of_t, recurrent, overwrite(dh));
          mogrify(t, of_t, dh);
          dh = masked(dh, masks.h);
          carried_h.join(dh);
          cut_off(t, dh, masks.resets);
        }
        mogrify.contribute(sums);
        contribute_product(sums, mogrify.after(), layer.weight_hh, masks.weight_hh);
        contribute_rows(sums, layer.bias);
        contribute(dh, h0);
      });
  return {y_out, {h_out, {}}};
}

// The state before the step is not needed again: it is overwritten.
void RnnCell::plain_step(const Tensor& x, Tensor h, Tensor, Tensor room) const {
  gemm(x, transposed(weight_ih.value()), bias.value(), room);
  gemm(h, transposed(weight_hh.value()), add_to(room));
  kernels().unary(nonlinearity, room.data(), h.data(), h.size());
}

}  // namespace unroll
