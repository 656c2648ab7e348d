// The LSTM's fast engine: everything that does not depend on time is one product over all steps, and what does is
// one recurrent product and one pass over the gates per step.
#include "framework/gemm.h"
#include "framework/kernels/kernels.h"
#include "layers/lstm.h"

namespace unroll::inline UNROLL_REAL {

// For t = 0 … T-1, gates a_t [batch, 4*hidden] in order i f g o:
//   a_t = x_t W_ihᵀ + b + h_{t-1} W_hhᵀ;   i f o = σ(a), g = tanh(a);   c_t = f c_{t-1} + i g;   h_t = o tanh(c_t)
// and back, for t = T-1 … 0:
//   dh_t = dy_t + da_{t+1} W_hh;   (da_t, dc_{t-1}) = cell's gradient of (dh_t, dc_t)
//   dx = da W_ih     dW_ih = daᵀ x     dW_hh = Σ_t da_tᵀ h_{t-1}     db = Σ da
LstmLayerOutput lstm_layer_fused(const Var& x, const Var& h0, const Var& c0, const Lstm::Layer& layer) {
  const auto& [w_ih, w_hh, b] = layer;
  const int steps = x.dim(0), batch = x.dim(1), hidden = w_hh.dim(1);

  Tensor gates({steps, batch, 4 * hidden});  // overwritten: sums, then activations, then their gradients
  Tensor h({steps + 1, batch, hidden});      // h[0] is the state before the first step
  Tensor c({steps + 1, batch, hidden});
  h[0].copy_from(h0.value());
  c[0].copy_from(c0.value());

  kernels().broadcast_rows(b.value().data(), gates.rows(), gates.cols(), gates.data());
  gemm(x.value(), transposed(w_ih.value()), add_to(gates));
  const PackedMatrix recurrent(transposed(w_hh.value()));
  for (int t = 0; t < steps; ++t) {
    gemm(h[t], recurrent, add_to(gates[t]));
    kernels().lstm_cell(gates[t].data(), c[t].data(), batch, hidden, c[t + 1].data(), h[t + 1].data());
  }

  const Var x_in = x, h_in = h0, c_in = c0, weight_ih = w_ih, weight_hh = w_hh, bias = b;
  auto [y_out, h_out, c_out] = record<3>(
      "lstm_layer_fused", std::array{h.slice(1, steps + 1), h[steps].clone(), c[steps].clone()},
      inputs(x, h0, c0, w_ih, w_hh, b), [=](const Var& y, const Var& h_last, const Var& c_last) {
        const int64_t cells = int64_t{batch} * hidden;
        Tensor dh({batch, hidden}), dc({batch, hidden});
        dh.copy_from(h_last.grad());
        dc.copy_from(c_last.grad());
        const PackedMatrix recurrent(weight_hh.value());
        for (int t = steps - 1; t >= 0; --t) {
          if (y.has_grad()) kernels().affine(y.grad()[t].data(), 1, 0, dh.data(), cells, true);
          kernels().lstm_cell_gradient(gates[t].data(), c[t].data(), c[t + 1].data(), dh.data(), dc.data(), batch,
                                       hidden, dc.data());
          if (t > 0 || h_in.wants_grad()) gemm(gates[t], recurrent, overwrite(dh));
        }
        const Tensor& da = gates;
        if (x_in.wants_grad()) gemm(da, weight_ih.value(), x_in.gradient());
        if (weight_ih.wants_grad()) gemm(transposed(da), x_in.value(), weight_ih.gradient());
        if (weight_hh.wants_grad()) gemm(transposed(da), h.slice(0, steps), weight_hh.gradient());
        if (bias.wants_grad()) {
          const Into db = bias.gradient();
          kernels().sum_rows(da.data(), da.rows(), da.cols(), db.tensor.data(), db.add);
        }
        const auto contribute = [&](const Var& state, const Tensor& d) {
          if (!state.wants_grad()) return;
          const Into into = state.gradient();
          kernels().affine(d.data(), 1, 0, into.tensor.data(), cells, into.add);
        };
        contribute(h_in, dh);
        contribute(c_in, dc);
      });
  return {y_out, h_out, c_out};
}

}  // namespace unroll::inline UNROLL_REAL
