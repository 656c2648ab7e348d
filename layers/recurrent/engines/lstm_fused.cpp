// The LSTM's fast engine: everything that does not depend on time is one product over all steps, and what
// does is one recurrent product and one pass over the gates per step. An option is a line of the loops; what
// it does there stands in fused/, and inside the cell in kernels/cpu/lstm_cell.cpp.
#include <optional>

#include "layers/recurrent/engines/fused/mogrifier.h"
#include "layers/recurrent/engines/fused/options.h"
#include "layers/recurrent/lstm.h"

namespace unroll {

using namespace fused;

// For t = 0 … T-1, gates a_t [batch, 4*hidden] in order i f g o; or [batch, 3*hidden], f g o, with i = 1 - f:
//   a_t = x_t W_ihᵀ + b + h_{t-1} W_hhᵀ;   i f o = σ(a), g = tanh(a)
//   c_t = f c_{t-1} + i g;   h_t = o tanh(c_t)
// and back, for t = T-1 … 0:
//   dh_t = dy_t + da_{t+1} W_hh;   (da_t, dc_{t-1}) = cell's gradient of (dh_t, dc_t)
//   dx = da W_ih     dW_ih = daᵀ x     dW_hh = Σ_t da_tᵀ h_{t-1}     db = Σ da
RecurrentOutput LstmCell::fused(const Var& x, const RecurrentVars& state, const RecurrentMasks& masks,
                                const Mogrifier& mogrifier) const {
  const LstmCell& layer = *this;  // the closure has a copy
  const Var h0 = state.h, c0 = state.c;
  const int steps = x.dim(0), batch = x.dim(1), hidden = c0.dim(1), width = h0.dim(1);

  Tensor gates(
      {steps, batch, layer.weight_ih.dim(0)});  // overwritten: sums, then activations, then their gradients
  Tensor h({steps + 1, batch, width});          // h[0] is the state before the first step
  Tensor c({steps + 1, batch, hidden});
  h[0].copy_from(h0.value());
  c[0].copy_from(c0.value());
  // The cell's own results, where an option makes the state of them.
  const bool projects = has(layer.weight_hr);
  Tensor cell = masks.new_c.defined() ? Tensor({steps, batch, hidden}) : c.slice(1, steps + 1);
  Tensor out = projects ? Tensor({steps, batch, hidden}) : h.slice(1, steps + 1);
  NormedProduct of_x(layer.norm_ih, layer.bias, gates.shape()), of_h(layer.norm_hh, {}, gates.shape());
  NormedState of_c(layer.norm_c, layer.norm_c_bias, cell.shape());
  Tensor dpeepholes = has(layer.peepholes)
                          ? Tensor::zeros({batch, static_cast<int>(layer.peepholes.value().size())})
                          : Tensor();
  const std::string_view cell_row = row_of_cell(has(layer.norm_c), has(layer.peepholes));
  auto step = [=](int t, const Tensor& c_before) mutable {
    return LstmStep{.batch = batch,
                    .hidden = hidden,
                    .gates = gates[t].data(),
                    .c_prev = c_before.data(),
                    .c = cell[t].data(),
                    .h = out[t].data(),
                    .gate = layer.gate,
                    .cell = layer.cell,
                    .clip = layer.clip,
                    .coupled = layer.coupled,
                    .peepholes = layer.peepholes.value().data(),
                    .dpeepholes = dpeepholes.data(),
                    .norm_eps = real(1e-5),
                    .norm_x = of_x.step(t),
                    .norm_h = of_h.step(t),
                    .norm_c = of_c.step(t)};
  };

  const Mogrified mogrified(mogrifier, x, layer.weight_ih, width);
  MogrifierForward mogrify(mogrified);
  const Matrix weight_ih = transposed(layer.weight_ih.value());
  const Tensor bias_of_x = has(layer.norm_ih) ? Tensor() : layer.bias.value();
  if (!mogrified)
    has(layer.norm_ih) ? gemm(x.value(), weight_ih, of_x.into(gates))
                       : gemm(x.value(), weight_ih, bias_of_x, gates);
  const StepWeights recurrent(transposed(dropped(layer.weight_hh.value(), masks.weight_hh)), steps);
  std::optional<Projection> project;
  if (projects) project.emplace(transposed(layer.weight_hr.value()), steps);
  const Carried carried_h{masks.new_h}, carried_c{masks.new_c};
  for (int t = 0; t < steps; ++t) {
    const Tensor h_before = met_at(t, h[t], masks.resets), c_before = met_at(t, c[t], masks.resets);
    const Tensor h_in = mogrify(t, masked(h_before, masks.h), bias_of_x, of_x.place(gates)[t]);
    gemm(h_in, recurrent, of_h.into(gates, t));
    {
      const Profile::Within measured(cell_row);
      kernels().lstm_cell(step(t, c_before));
    }
    if (projects) (*project)(out[t], h[t + 1]);
    carried_h.forward(t, h[t + 1], h_before, h[t + 1]);
    carried_c.forward(t, cell[t], c_before, c[t + 1]);
  }

  auto [y_out, h_out, c_out] = record<3>(
      "lstm_layer_fused", std::array{h.slice(1, steps + 1), h[steps].clone(), c[steps].clone()},
      inputs(layer.weights(), x, h0, c0), [=](const Var& y, const Var& h_last, const Var& c_last) mutable {
        Tensor dh = h_last.grad().clone(), dout = dh, dc = c_last.grad().clone();
        Tensor projected = projects ? Tensor({steps, batch, width}) : Tensor();  // gradients of
        const StepWeights recurrent(dropped(layer.weight_hh.value(), masks.weight_hh), steps);
        std::optional<Projection> project;
        if (projects) project.emplace(layer.weight_hr.value(), steps), dout = Tensor({batch, hidden});
        Carried carried_h{masks.new_h}, carried_c{masks.new_c};
        MogrifierBackward mogrify(mogrified, masked(met(h, masks.resets), masks.h));  // h as it entered
        for (int t = steps - 1; t >= 0; --t) {
          if (y.has_grad()) kernels().affine(y.grad()[t].data(), 1, 0, dh.data(), dh.size(), true);
          carried_h.split(t, dh);
          carried_c.split(t, dc);
          if (projects) projected[t].copy_from(dh), (*project)(dh, dout);
          const Tensor c_before = met_at(t, c[t], masks.resets);
          {
            const Profile::Within measured(cell_row);
            kernels().lstm_cell_gradient(step(t, c_before), projects ? dout.data() : dh.data(), dc.data(),
                                         dc.data());
          }
          if (t > 0 || h0.wants_grad() || mogrified) gemm(of_h.place(gates)[t], recurrent, overwrite(dh));
          mogrify(t, of_x.place(gates)[t], dh);
          dh = masked(dh, masks.h);
          carried_h.join(dh);
          carried_c.join(dc);
          cut_off(t, dh, masks.resets);
          cut_off(t, dc, masks.resets);
        }
        const Tensor &da_x = of_x.place(gates), &da_h = of_h.place(gates);
        mogrify.contribute(da_x);
        contribute_product(da_h, mogrify.after(), layer.weight_hh, masks.weight_hh);
        contribute_rows(gates, layer.bias);
        if (projects) {
          const Profile::Within measured("recurrent: projection");
          contribute_product(projected, out, layer.weight_hr);
        }
        if (has(layer.peepholes)) contribute_rows(dpeepholes, layer.peepholes);
        of_x.contribute(), of_h.contribute(), of_c.contribute();
        contribute(dh, h0);
        contribute(dc, c0);
      });
  return {y_out, {h_out, c_out}};
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
