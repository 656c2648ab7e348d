// Long short-term memory (Hochreiter and Schmidhuber 1997), with the options of layers/recurrent/options.h.
//
// All engines share one parameter layout, gate order i f g o, or f g o if i is coupled to f. Per layer: weight_ih
// [4*hidden, input], weight_hh [4*hidden, width] and one bias [4*hidden]. width is the width of h: hidden, or
// projection. Weights of options have names of their own, so a checkpoint says which options its model has.
#pragma once

#include "layers/recurrent/recurrent.h"

namespace unroll {

// One layer in one direction: weight_ih [4*hidden, input], weight_hh [4*hidden, width] and bias [4*hidden], whose rows are the
// gates i f g o one after the other, each of `hidden` rows (f g o if coupled). Weights of options that are off are empty.
//
// `kind` and `name` say which cell it is, `has_c` that its state has a c, `gate_names` how a trace calls the gates. `fused` is
// the engine of that name (HasFused), plain_step its step in inference (HasPlainStep). `gate` is the gates' function, `cell` that
// of g and of c on its way to h.
struct LstmCell {
  static constexpr CellKind kind = CellKind::lstm;
  static constexpr const char* name = "lstm";
  static constexpr bool has_c = true;
  static constexpr const char* gate_names[] = {"i", "f", "g", "o"};

  explicit LstmCell(const LayerScope& scope);

  // One step in elementary operations: the equations of the textbook, and the reference for the fast engines. Stores
  // the gates through `gates`, in the order of their names.
  RecurrentVars step(const Var& x, const Var& h_in, const RecurrentVars& before, Vars* gates = nullptr) const;
  RecurrentOutput fused(const Var& x, const RecurrentVars& state, const RecurrentMasks& masks) const;
  void plain_step(const Tensor& x, Tensor h, Tensor c, Tensor room) const;  // see HasPlainStep
  static int step_room(int hidden) { return 4 * hidden; }                   // columns of plain_step's room

  Var weight_ih = {}, weight_hh = {}, bias = {};
  Unary gate = Unary::sigmoid, cell = Unary::tanh;
  real clip = 0;                      // of c; 0: it is free
  bool step_by_step = false;          // in the engine fused: steps, even if its persistent kernel serves
  bool coupled = false;               // i = 1 - f: there are three gates f g o, and peepholes of f and o
  Var weight_hr = {};                 // [projection, hidden]: h = W_hr (o·tanh(c))
  Var peepholes = {};                 // [3, hidden], of i, f and o; [2, hidden] of coupled gates
  Var norm_ih = {}, norm_hh = {};     // gains of the two products [4*hidden]; bias shifts both
  Var norm_c = {}, norm_c_bias = {};  // of c [hidden]
};

using Lstm = Recurrent<LstmCell>;  // layers of LSTM cells over windows
extern template class Recurrent<LstmCell>;

}  // namespace unroll
