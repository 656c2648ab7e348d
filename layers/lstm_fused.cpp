// The LSTM's fast engine: everything that does not depend on time is one product over all steps, and what
// does is one recurrent product and one pass over the gates per step. Each option of RecurrentMasks is a line of
// the loops; what it does there stands above them.
#include "framework/gemm.h"
#include "framework/kernels/kernels.h"
#include "layers/lstm.h"

namespace unroll::inline UNROLL_REAL {

namespace {

void add_into(const Tensor& d, const Var& x) {
  if (!x.wants_grad()) return;
  const Into dx = x.gradient();
  kernels().affine(d.data(), 1, 0, dx.tensor.data(), d.size(), dx.add);
}

// --- the options, where they act; what is not defined does nothing
// ------------------------------------------------

// Recurrent dropout: h·mask enters the recurrent product, the mask [batch, hidden] the same at every step.
Tensor masked(const Tensor& h, const Tensor& mask) {
  if (!mask.defined()) return h;
  const Tensor result(h.shape());
  kernels().binary(Binary::mul, h.data(), h.size(), mask.data(), mask.size(), result.data(), h.size());
  return result;
}

// Weight drop: the weights without the dropped ones, for as long as it takes to pack them.
Tensor dropped(const Tensor& w, const RecurrentMasks::Drop& drop) {
  if (drop.rate == 0) return w;
  const Tensor result(w.shape());
  kernels().dropout(w.data(), drop.rate, drop.key, w.size(), result.data(), w.size(), false);
  return result;
}
// dw = the mask of `dropped` on aᵀ b
void add_product(const Tensor& a, const Tensor& b, const RecurrentMasks::Drop& drop, const Var& w) {
  const Into dw = w.gradient();
  if (drop.rate == 0) return gemm(transposed(a), b, dw);
  const Tensor product(w.shape());
  gemm(transposed(a), b, overwrite(product));
  kernels().dropout(product.data(), drop.rate, drop.key, product.size(), dw.tensor.data(), product.size(),
                    dw.add);
}

// Zoneout and padding: a state is u·(what the step computed) + (1-u)·(the state before), u [steps, batch,
// hidden].
struct Carried {
  Tensor u = {}, rest = {};

  void forward(int t, const Tensor& computed, const Tensor& before, const Tensor& state) const {
    if (u.defined()) kernels().blend(u[t].data(), computed.data(), before.data(), state.data(), state.size());
  }
  // d of the state: becomes that of what was computed, and the rest waits for the state before.
  void split(int t, const Tensor& d) {
    if (!u.defined()) return;
    rest = d.clone();
    kernels().binary(Binary::mul, d.data(), d.size(), u[t].data(), d.size(), d.data(), d.size());
    kernels().binary(Binary::sub, rest.data(), d.size(), d.data(), d.size(), rest.data(), d.size());
  }
  void join(const Tensor& d) const {
    if (u.defined()) kernels().affine(rest.data(), 1, 0, d.data(), d.size(), true);
  }
};

}  // namespace

// For t = 0 … T-1, gates a_t [batch, 4*hidden] in order i f g o:
//   a_t = x_t W_ihᵀ + b + h_{t-1} W_hhᵀ;   i f o = σ(a), g = tanh(a);   c_t = f c_{t-1} + i g;   h_t = o
//   tanh(c_t)
// and back, for t = T-1 … 0:
//   dh_t = dy_t + da_{t+1} W_hh;   (da_t, dc_{t-1}) = cell's gradient of (dh_t, dc_t)
//   dx = da W_ih     dW_ih = daᵀ x     dW_hh = Σ_t da_tᵀ h_{t-1}     db = Σ da
LstmLayerOutput lstm_layer_fused(const Var& x, const Var& h0, const Var& c0, const Lstm::Layer& layer,
                                 const RecurrentMasks& masks) {
  const int steps = x.dim(0), batch = x.dim(1), hidden = layer.weight_hh.dim(1);

  Tensor gates({steps, batch, 4 * hidden});  // overwritten: sums, then activations, then their gradients
  Tensor h({steps + 1, batch, hidden});      // h[0] is the state before the first step
  Tensor c({steps + 1, batch, hidden});
  h[0].copy_from(h0.value());
  c[0].copy_from(c0.value());
  const Tensor cell = masks.new_c.defined() ? Tensor({steps, batch, hidden}) : c.slice(1, steps + 1);
  const Carried carried_h{masks.new_h}, carried_c{masks.new_c};

  kernels().broadcast_rows(layer.bias.value().data(), gates.rows(), gates.cols(), gates.data());
  gemm(x.value(), transposed(layer.weight_ih.value()), add_to(gates));
  const PackedMatrix recurrent(transposed(dropped(layer.weight_hh.value(), masks.weight_hh)));
  for (int t = 0; t < steps; ++t) {
    gemm(masked(h[t], masks.h), recurrent, add_to(gates[t]));
    kernels().lstm_cell(gates[t].data(), c[t].data(), batch, hidden, cell[t].data(), h[t + 1].data());
    carried_h.forward(t, h[t + 1], h[t], h[t + 1]);
    carried_c.forward(t, cell[t], c[t], c[t + 1]);
  }

  auto [y_out, h_out, c_out] =
      record<3>("lstm_layer_fused", std::array{h.slice(1, steps + 1), h[steps].clone(), c[steps].clone()},
                inputs(x, h0, c0, layer.weight_ih, layer.weight_hh, layer.bias),
                [=](const Var& y, const Var& h_last, const Var& c_last) {
                  Tensor dh = h_last.grad().clone();
                  const Tensor dc = c_last.grad().clone();
                  Carried carried_h{masks.new_h}, carried_c{masks.new_c};
                  const PackedMatrix recurrent(dropped(layer.weight_hh.value(), masks.weight_hh));
                  for (int t = steps - 1; t >= 0; --t) {
                    if (y.has_grad()) kernels().affine(y.grad()[t].data(), 1, 0, dh.data(), dh.size(), true);
                    carried_h.split(t, dh);
                    carried_c.split(t, dc);
                    kernels().lstm_cell_gradient(gates[t].data(), c[t].data(), cell[t].data(), dh.data(),
                                                 dc.data(), batch, hidden, dc.data());
                    if (t > 0 || h0.wants_grad()) gemm(gates[t], recurrent, overwrite(dh));
                    dh = masked(dh, masks.h);
                    carried_h.join(dh);
                    carried_c.join(dc);
                  }
                  const Tensor& da = gates;
                  if (x.wants_grad()) gemm(da, layer.weight_ih.value(), x.gradient());
                  if (layer.weight_ih.wants_grad())
                    gemm(transposed(da), x.value(), layer.weight_ih.gradient());
                  if (layer.weight_hh.wants_grad())
                    add_product(da, masked(h.slice(0, steps), masks.h), masks.weight_hh, layer.weight_hh);
                  if (layer.bias.wants_grad()) {
                    const Into db = layer.bias.gradient();
                    kernels().sum_rows(da.data(), da.rows(), da.cols(), db.tensor.data(), db.add);
                  }
                  add_into(dh, h0);
                  add_into(dc, c0);
                });
  return {y_out, h_out, c_out};
}

}  // namespace unroll::inline UNROLL_REAL
