#include "layers/recurrent/gru.h"

namespace unroll {

GruCell::GruCell(const LayerScope& scope)
    : weight_ih(scope.add("weight_ih", {3 * scope.hidden, scope.input}).var()),
      weight_hh(scope.add("weight_hh", {3 * scope.hidden, scope.hidden}).var()),
      bias(scope.add("bias", {3 * scope.hidden}).var()),
      bias_hn(scope.add("bias_hn", {scope.hidden}).var()) {}

// In elementary operations: the reference for the fast engine.
RecurrentVars GruCell::step(const Var& x, const Var& h_in, const RecurrentVars& before, Vars* gates) const {
  const int hidden = before.h.dim(1);
  const Var a = linear(x, weight_ih, bias), q = linear(h_in, weight_hh);  // [batch, 3*hidden]
  const auto part = [&](const Var& sums, int k) { return slice(sums, 1, k * hidden, (k + 1) * hidden); };
  const Var r = sigmoid(part(a, 0) + part(q, 0)), z = sigmoid(part(a, 1) + part(q, 1));
  const Var n = tanh(part(a, 2) + r * (part(q, 2) + bias_hn));
  if (gates) *gates = {r, z, n};
  return {(-z + 1) * n + z * before.h, {}};
}

template class Recurrent<GruCell>;

}  // namespace unroll
