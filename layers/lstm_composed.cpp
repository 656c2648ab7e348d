// The LSTM spelled out in elementary operations: the equations of the textbook, differentiated by the tape. For
// reading, for cells of one's own, and the reference for the fast engines.
#include "framework/ops.h"
#include "layers/lstm.h"

namespace unroll::inline UNROLL_REAL {

LstmLayerOutput lstm_layer_composed(const Var& x, const Var& h0, const Var& c0, const Lstm::Layer& layer) {
  const int steps = x.dim(0), hidden = layer.weight_hh.dim(1);
  Var h = h0, c = c0;
  Vars ys;
  for (int t = 0; t < steps; ++t) {
    const Var a = linear(row(x, t), layer.weight_ih, layer.bias) + linear(h, layer.weight_hh);  // [batch, 4*hidden]
    const auto gate = [&](int k) { return slice(a, 1, k * hidden, (k + 1) * hidden); };
    const Var i = sigmoid(gate(0)), f = sigmoid(gate(1)), g = tanh(gate(2)), o = sigmoid(gate(3));
    c = f * c + i * g;
    h = o * tanh(c);
    ys.push_back(h);
  }
  return {stack(ys), h, c};
}

}  // namespace unroll::inline UNROLL_REAL
