// The GRU spelled out in elementary operations: the reference for the fast engine.
#include "layers/gru.h"

namespace unroll::inline UNROLL_REAL {

GruLayerOutput gru_layer_composed(const Var& x, const Var& h0, const Gru::Layer& layer,
                                  const RecurrentMasks& masks) {
  const int steps = x.dim(0), hidden = h0.dim(1);
  const Var weight_hh = dropout(layer.weight_hh, masks.weight_hh.rate, masks.weight_hh.key);
  Var h = h0;
  Vars ys;
  for (int t = 0; t < steps; ++t) {
    const Var a = linear(row(x, t), layer.weight_ih, layer.bias);               // [batch, 3*hidden]
    const Var q = linear(masks.h.defined() ? h * Var(masks.h) : h, weight_hh);  // [batch, 3*hidden]
    const auto gate = [&](const Var& sums, int k) { return slice(sums, 1, k * hidden, (k + 1) * hidden); };
    const Var r = sigmoid(gate(a, 0) + gate(q, 0)), z = sigmoid(gate(a, 1) + gate(q, 1));
    const Var n = tanh(gate(a, 2) + r * (gate(q, 2) + layer.bias_hn));
    h = carried(masks.new_h, t, (-z + 1) * n + z * h, h);
    ys.push_back(h);
  }
  return {stack(ys), h};
}

}  // namespace unroll::inline UNROLL_REAL
