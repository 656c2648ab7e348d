// The plain network's fast engine, as the LSTM's: one product for the inputs of all steps, or of a chunk, and per step a
// recurrent product and the function of its sums, which is a kernel of single elements.
#include "layers/recurrent/engines/fused/input_product.h"
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
RecurrentOutput RnnCell::fused(const Var& x, const RecurrentVars& state, const RecurrentMasks& masks) const {
  const RnnCell& layer = *this;  // the closure has a copy
  const WavePart& part = masks.part;
  PartInLane lane(part, PartInLane::Way::forward);
  const Var h0 = state.h;
  const int steps = x.dim(0), batch = x.dim(1), hidden = h0.dim(1);

  Tensor sums({steps, batch, hidden});   // overwritten: sums, then f of them, then their gradients
  Tensor h({steps + 1, batch, hidden});  // h[0] is the state before the first step
  const StateOptions options{masks.new_h, masks.h, masks.resets};
  const std::string_view cell_row = row_of_cell(masks);
  auto step = [=](int t) mutable {
    return RnnStep{.batch = batch,
                   .hidden = hidden,
                   .f = layer.nonlinearity,
                   .sums = sums[t].data(),
                   .h = h[t + 1].data()};
  };

  const Mogrified mogrified(masks, x, layer.weight_ih, hidden);
  MogrifierForward mogrify(mogrified);
  const InputProduct product_of_x(x, layer.weight_ih, layer.bias.value(), sums, part, bool{mogrified});
  product_of_x.at_once();
  const StepWeights recurrent(transposed(dropped(layer.weight_hh.value(), masks.weight_hh)), steps);
  HandedOn to_next(h0.value(), h, options, mogrified ? Multiplied::as_floats : Multiplied::yes);
  lane.each_chunk(steps, [&](int begin, int end) {
    product_of_x.of_chunk(begin, end);
    for (int t = begin; t < end; ++t) {
      gemm(mogrify(t, to_next.entering(t), layer.bias.value(), sums[t]), recurrent, add_to(sums[t]));
      RnnStep s = step(t);
      s.h_on = to_next.after(t);
      const Profile::Within measured(cell_row);
      kernels().rnn_cell(s);
    }
  });

  auto [y_out, h_out] = record<2>(
      "rnn_layer_fused", std::array{h.slice(1, steps + 1), h[steps].clone()}, inputs(layer.weights(), x, h0),
      [=](const Var& y, const Var& h_last) mutable {
        const WavePart& part = masks.part;
        PartInLane lane(part, PartInLane::Way::back);
        Tensor dh = h_last.grad().clone();
        HandedBack back({.d = dh, .steps = steps, .options = options, .dy = gradient_of(y)});
        MogrifierBackward mogrify(mogrified, entered(h, options));
        const StepWeights recurrent(dropped(layer.weight_hh.value(), masks.weight_hh), steps);
        RoundedTensor da_rounded(sums.shape());
        const InputGradient to_x(x, layer.weight_ih, part, bool{mogrified});
        lane.each_chunk(steps, [&](int begin, int end) {
          for (int t = end - 1; t >= begin; --t) {
            RnnStep s = step(t);
            s.h_on = back.at(t), s.rounded_sums = da_rounded.copy(t);
            {
              const Profile::Within measured(cell_row);
              kernels().rnn_cell_gradient(s, dh.data());  // the functions' slopes follow from their values
            }
            if (t > 0 || h0.wants_grad() || mogrified)
              gemm(da_rounded.operand(sums, t), recurrent, overwrite(dh));
            mogrify(t, da_rounded.operand(sums, t), dh);
          }
          if (to_x) to_x.of_chunk(steps_of(sums, da_rounded, begin, end), begin, end);
        });
        mogrify.contribute(da_rounded.operand(sums), !to_x);
        contribute_product(da_rounded.operand(sums), mogrify.after(), layer.weight_hh, masks.weight_hh);
        contribute_rows(sums, layer.bias);
        if (h0.wants_grad()) back.finish();
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
