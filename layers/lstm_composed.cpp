// The LSTM spelled out in elementary operations: the equations of the textbook, differentiated by the tape.
// For reading, for cells of one's own, and the reference for the fast engines.
#include "framework/ops.h"
#include "layers/lstm.h"

namespace unroll::inline UNROLL_REAL {

// u·computed + (1-u)·before in step t; `computed` where there is no u.
static Var carried(const Tensor& u, int t, const Var& computed, const Var& before) {
  if (!u.defined()) return computed;
  const Var share = u[t];
  return share * computed + (-share + 1) * before;
}

LstmLayerOutput lstm_layer_composed(const Var& x, const Var& h0, const Var& c0, const Lstm::Layer& layer,
                                    const RecurrentMasks& masks) {
  const int steps = x.dim(0), hidden = layer.weight_hh.dim(1);
  const Var weight_hh = dropout(layer.weight_hh, masks.weight_hh.rate, masks.weight_hh.key);
  Var h = h0, c = c0;
  Vars ys;
  for (int t = 0; t < steps; ++t) {
    const Var h_in = masks.h.defined() ? h * Var(masks.h) : h;
    const Var a =
        linear(row(x, t), layer.weight_ih, layer.bias) + linear(h_in, weight_hh);  // [batch, 4*hidden]
    const auto gate = [&](int k) { return slice(a, 1, k * hidden, (k + 1) * hidden); };
    const Var i = sigmoid(gate(0)), f = sigmoid(gate(1)), g = tanh(gate(2)), o = sigmoid(gate(3));
    const Var c_new = f * c + i * g;
    h = carried(masks.new_h, t, o * tanh(c_new), h);
    c = carried(masks.new_c, t, c_new, c);
    ys.push_back(h);
  }
  return {stack(ys), h, c};
}

}  // namespace unroll::inline UNROLL_REAL
