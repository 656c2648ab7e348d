// Gated recurrent units (Cho et al. 2014). The reset gate acts after the product, as in cuDNN and PyTorch.
//
// Gate order r z n. Per layer: weight_ih [3*hidden, input], weight_hh [3*hidden, hidden], bias [3*hidden], and bias_hn
// [hidden], on which the reset gate acts. bias is PyTorch's bias_ih + bias_hh; bias_hn is n's part of bias_hh.
#pragma once

#include "layers/recurrent/recurrent.h"

namespace unroll {

// One layer in one direction: weight_ih, weight_hh, bias, bias_hn. LstmCell explains kind, has_c, gate_names, step, fused.
struct GruCell {
  static constexpr CellKind kind = CellKind::gru;
  static constexpr const char* name = "gru";
  static constexpr bool has_c = false;
  static constexpr const char* gate_names[] = {"r", "z", "n"};

  explicit GruCell(const LayerScope& scope);

  RecurrentVars step(const Var& x, const Var& h_in, const RecurrentVars& before, Vars* gates = nullptr) const;
  RecurrentOutput fused(const Var& x, const RecurrentVars& state, const RecurrentMasks& masks) const;
  void plain_step(const Tensor& x, Tensor h, Tensor c, Tensor room) const;  // see HasPlainStep
  static int step_room(int hidden) { return 6 * hidden; }                   // columns of plain_step's room

  Var weight_ih, weight_hh, bias, bias_hn;
  bool step_by_step;  // in the engine fused: steps, even if its persistent kernel serves
};

using Gru = Recurrent<GruCell>;  // layers of gated recurrent units over windows
extern template class Recurrent<GruCell>;

}  // namespace unroll
