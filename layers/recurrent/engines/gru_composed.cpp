// The GRU spelled out in elementary operations: the reference for the fast engine.
#include "layers/recurrent/gru.h"

namespace unroll {

RecurrentVars GruCell::step(const Var& x, const Var& h_in, const RecurrentVars& before) const {
  const int hidden = before.h.dim(1);
  const Var a = linear(x, weight_ih, bias), q = linear(h_in, weight_hh);  // [batch, 3*hidden]
  const auto gate = [&](const Var& sums, int k) { return slice(sums, 1, k * hidden, (k + 1) * hidden); };
  const Var r = sigmoid(gate(a, 0) + gate(q, 0)), z = sigmoid(gate(a, 1) + gate(q, 1));
  const Var n = tanh(gate(a, 2) + r * (gate(q, 2) + bias_hn));
  return {(-z + 1) * n + z * before.h, {}};
}

}  // namespace unroll
