// The plain recurrent network (Elman 1990), as PyTorch's nn.RNN: h = f(W_ih x + W_hh h + b), f tanh or relu.
//
// Per layer weight_ih [hidden, input], weight_hh [hidden, hidden] and bias [hidden], the sum of PyTorch's two.
#pragma once

#include "layers/recurrent/recurrent.h"

namespace unroll {

// One layer in one direction: weight_ih, weight_hh, bias. LstmCell explains kind, has_c, step, fused.
struct RnnCell {
  static constexpr CellKind kind = CellKind::rnn;
  static constexpr const char* name = "rnn";
  static constexpr bool has_c = false;

  explicit RnnCell(const LayerScope& scope);

  RecurrentVars step(const Var& x, const Var& h_in, const RecurrentVars& before) const;
  RecurrentOutput fused(const Var& x, const RecurrentVars& state, const RecurrentMasks& masks) const;
  void plain_step(const Tensor& x, Tensor h, Tensor c, Tensor room) const;  // see HasPlainStep
  static int step_room(int hidden) { return hidden; }                       // columns of plain_step's room

  Var weight_ih, weight_hh, bias;
  Unary nonlinearity;  // f: tanh or relu
};

using Rnn = Recurrent<RnnCell>;  // layers of plain cells over windows
extern template class Recurrent<RnnCell>;

}  // namespace unroll
