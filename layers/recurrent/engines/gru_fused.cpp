// The GRU's fast engine, as the LSTM's: one product for the inputs of all steps, or of a chunk, and a recurrent product and
// one pass over the gates per step.
#include "layers/recurrent/engines/fused/input_product.h"
#include "layers/recurrent/engines/fused/mogrifier.h"
#include "layers/recurrent/engines/fused/options.h"
#include "layers/recurrent/gru.h"

namespace unroll {

using namespace fused;

// For t = 0 … T-1, sums a_t of x and q_t of h [batch, 3*hidden] in order r z n:
//   a_t = x_t W_ihᵀ + b;   q_t = h_{t-1} W_hhᵀ, for n + b_hn
//   r z = σ(a + q);   n = tanh(a + r q);   h_t = (1-z) n + z h_{t-1}
// and back, for t = T-1 … 0, (da_t, dq_t) the cell's gradient of dh_t:
//   dh_{t-1} = dy_{t-1} + dq_t W_hh + z dh_t
//   dx = da W_ih     dW_ih = daᵀ x     dW_hh = Σ_t dq_tᵀ h_{t-1}     db = Σ da     db_hn = Σ dq of n
RecurrentOutput GruCell::fused(const Var& x, const RecurrentVars& state, const RecurrentMasks& masks) const {
  const GruCell& layer = *this;  // the closure has a copy
  const WavePart& part = masks.part;
  PartInLane lane(part, PartInLane::Way::forward);
  const Var h0 = state.h;
  const int steps = x.dim(0), batch = x.dim(1), hidden = h0.dim(1);

  Tensor gates({steps, batch, 3 * hidden}),
      sums({steps, batch, 3 * hidden});  // a and q, in the end da and dq
  Tensor h({steps + 1, batch, hidden});  // h[0] is the state before the first step
  const StateOptions options{masks.new_h, masks.h, masks.resets};
  const std::string_view cell_row = row_of_cell(masks);
  auto step = [=](int t, const Tensor& h_before) mutable {
    return GruStep{.batch = batch,
                   .hidden = hidden,
                   .gates = gates[t].data(),
                   .sums = sums[t].data(),
                   .bias_hn = layer.bias_hn.value().data(),
                   .h_prev = h_before.data(),
                   .h = h[t + 1].data()};
  };

  const Mogrified mogrified(masks, x, layer.weight_ih, hidden);
  MogrifierForward mogrify(mogrified);
  const InputProduct product_of_x(x, layer.weight_ih, layer.bias.value(), gates, part, bool{mogrified});
  product_of_x.at_once();
  const StepWeights recurrent(transposed(dropped(layer.weight_hh.value(), masks.weight_hh)), steps);
  HandedOn to_next(h0.value(), h, options, mogrified ? Multiplied::as_floats : Multiplied::yes);
  lane.each_chunk(steps, [&](int begin, int end) {
    product_of_x.of_chunk(begin, end);
    for (int t = begin; t < end; ++t) {
      gemm(mogrify(t, to_next.entering(t), layer.bias.value(), gates[t]), recurrent, overwrite(sums[t]));
      GruStep s = step(t, to_next.met(t));
      s.h_on = to_next.after(t);
      const Profile::Within measured(cell_row);
      kernels().gru_cell(s);
    }
  });

  auto [y_out, h_out] = record<2>(
      "gru_layer_fused", std::array{h.slice(1, steps + 1), h[steps].clone()}, inputs(layer.weights(), x, h0),
      [=](const Var& y, const Var& h_last) mutable {
        const WavePart& part = masks.part;
        PartInLane lane(part, PartInLane::Way::back);
        Tensor dh = h_last.grad().clone();
        Tensor kept({batch, hidden});  // z dh
        HandedBack back({.d = dh, .steps = steps, .options = options, .dy = gradient_of(y), .direct = kept});
        const Tensor h_met = met(h, options);
        MogrifierBackward mogrify(mogrified, entered(h, options));
        const StepWeights recurrent(dropped(layer.weight_hh.value(), masks.weight_hh), steps);
        RoundedTensor dq_rounded(sums.shape());
        const InputGradient to_x(x, layer.weight_ih, part, bool{mogrified});
        lane.each_chunk(steps, [&](int begin, int end) {
          for (int t = end - 1; t >= begin; --t) {
            GruStep s = step(t, h_met[t]);
            s.h_on = back.at(t), s.rounded_sums = dq_rounded.copy(t);
            {
              const Profile::Within measured(cell_row);
              kernels().gru_cell_gradient(s, dh.data(), kept.data());
            }
            if (t > 0 || h0.wants_grad() || mogrified)
              gemm(dq_rounded.operand(sums, t), recurrent, overwrite(dh));
            mogrify(t, gates[t], dh);
          }
          if (to_x) to_x.of_chunk(gates.slice(begin, end), begin, end);
        });
        mogrify.contribute(gates, !to_x);
        contribute_product(dq_rounded.operand(sums), mogrify.after(), layer.weight_hh, masks.weight_hh);
        contribute_rows(gates, layer.bias);
        Tensor dn({steps, batch, hidden});
        kernels().copy_blocks(sums.data() + 2 * hidden, 3 * hidden, dn.data(), hidden, dn.rows(), hidden,
                              false);
        contribute_rows(dn, layer.bias_hn);
        if (h0.wants_grad()) back.finish();
        contribute(dh, h0);
      });
  return {y_out, {h_out, {}}};
}

// The state before the step is not needed again: it is overwritten.
void GruCell::plain_step(const Tensor& x, Tensor h, Tensor, Tensor room) const {
  const int batch = h.dim(0), gates = 3 * h.dim(1);
  Tensor both = room.reshape({2 * batch, gates}), a = both.slice(0, batch), q = both.slice(batch, 2 * batch);
  gemm(x, transposed(weight_ih.value()), bias.value(), a);
  gemm(h, transposed(weight_hh.value()), overwrite(q));
  kernels().gru_cell({.batch = batch,
                      .hidden = h.cols(),
                      .gates = a.data(),
                      .sums = q.data(),
                      .bias_hn = bias_hn.value().data(),
                      .h_prev = h.data(),
                      .h = h.data()});
}

}  // namespace unroll
