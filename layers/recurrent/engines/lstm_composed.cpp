// The LSTM spelled out in elementary operations: the equations of the textbook, differentiated by the tape.
// For reading, for cells of one's own, and the reference for the fast engines.
#include "layers/recurrent/lstm.h"

namespace unroll {

namespace {

// x̂·gain + bias of the rows of x; x where there is no gain.
Var normed(const Var& x, const Var& gain, const Var& bias = {}) {
  if (!has(gain)) return x;
  return layer_norm(x, gain, has(bias) ? bias : Var(Tensor::zeros(gain.shape())));
}

}  // namespace

RecurrentVars LstmCell::step(const Var& x, const Var& h_in, const RecurrentVars& before, Vars* gates) const {
  const int hidden = before.c.dim(1);
  const Var a = normed(linear(x, weight_ih), norm_ih) + normed(linear(h_in, weight_hh), norm_hh) +
                bias;  // [batch, 4*hidden], or 3*hidden
  const auto sums = [&](int k) { return slice(a, 1, k * hidden, (k + 1) * hidden); };
  const auto peephole = [&](int k, const Var& sum, const Var& seen) {
    return has(peepholes) ? sum + row(peepholes, k) * seen : sum;
  };
  const int at_f = coupled ? 0 : 1;  // where the gates begin that both kinds have: f g o
  const Var own_i = coupled ? Var() : unary(gate, peephole(0, sums(0), before.c));
  const Var f = unary(gate, peephole(at_f, sums(at_f), before.c)), i = coupled ? -f + 1 : own_i;
  const Var g = unary(cell, sums(at_f + 1));
  const Var sum = f * before.c + i * g;
  const Var c = clip > 0 ? clip * unary(Unary::hard_tanh, sum * (1 / clip)) : sum;
  const Var o = unary(gate, peephole(at_f + 1, sums(at_f + 2), c));
  const Var h = o * unary(cell, normed(c, norm_c, norm_c_bias));
  if (gates) *gates = {i, f, g, o};
  return {has(weight_hr) ? linear(h, weight_hr) : h, c};
}

}  // namespace unroll
