// The LSTM spelled out in elementary operations: the equations of the textbook, differentiated by the tape.
// For reading, for cells of one's own, and the reference for the fast engines.
#include "framework/ops.h"
#include "layers/lstm.h"

namespace unroll::inline UNROLL_REAL {

namespace {

bool has(const Var& v) { return v.value().defined(); }

// x̂·gain + bias of the rows of x; x where there is no gain.
Var normed(const Var& x, const Var& gain, const Var& bias = {}) {
  if (!has(gain)) return x;
  return layer_norm(x, gain, has(bias) ? bias : Var(Tensor::zeros(gain.shape())));
}

}  // namespace

LstmLayerOutput lstm_layer_composed(const Var& x, const Var& h0, const Var& c0, const Lstm::Layer& layer,
                                    const RecurrentMasks& masks) {
  const int steps = x.dim(0), hidden = c0.dim(1);
  const Var weight_hh = dropout(layer.weight_hh, masks.weight_hh.rate, masks.weight_hh.key);
  const auto peephole = [&](int k, const Var& sum, const Var& seen) {
    return has(layer.peepholes) ? sum + row(layer.peepholes, k) * seen : sum;
  };
  Var h = h0, c = c0;
  Vars ys;
  for (int t = 0; t < steps; ++t) {
    const Var h_in = masks.h.defined() ? h * Var(masks.h) : h;
    const Var a = normed(linear(row(x, t), layer.weight_ih), layer.norm_ih) +
                  normed(linear(h_in, weight_hh), layer.norm_hh) + layer.bias;  // [batch, 4*hidden]
    const auto gate = [&](int k) { return slice(a, 1, k * hidden, (k + 1) * hidden); };
    const Var i = unary(layer.gate, peephole(0, gate(0), c)), f = unary(layer.gate, peephole(1, gate(1), c));
    const Var g = unary(layer.cell, gate(2));
    const Var c_new = f * c + i * g;
    const Var o = unary(layer.gate, peephole(2, gate(3), c_new));
    Var h_new = o * unary(layer.cell, normed(c_new, layer.norm_c, layer.norm_c_bias));
    if (has(layer.weight_hr)) h_new = linear(h_new, layer.weight_hr);
    h = carried(masks.new_h, t, h_new, h);
    c = carried(masks.new_c, t, c_new, c);
    ys.push_back(h);
  }
  return {stack(ys), h, c};
}

}  // namespace unroll::inline UNROLL_REAL
