// A product of few rows with what a step of a recurrent layer does to its sums, in one launch on a GPU.
//
// A library's product of 20 rows waits for its sums, and the pass behind it is a launch more. Here each block has a few lines of
// the weights, reads them once, 16 bytes a lane, and ends with what is done to a sum: the pass that would have followed.
#pragma once

#include "framework/kernels/kernels.h"

namespace unroll {

// sums [rows, gates·width] = Σ over the terms of x [rows, depth] linesᵀ, lines [gates·width, depth]. Operands are rounded as the
// products of the same name round them.
struct FewRows {
  static constexpr int64_t most_rows = 64;
  struct Term {
    const real* x = nullptr;      // null: there is no such term
    const void* lines = nullptr;  // as `pack` leaves them
    int64_t depth = 0;
  };
  int64_t rows = 0, width = 0;
  int64_t gates = 1;  // a unit's sums, of lines at a distance of width; at most 4
  Term terms[2] = {};
};

// Puts a sum, or its gradient of a gate, at [rows, width]:
//   d = sum + bias + before;   with a gate (Kernels::gate_gradient) s and d become its gradients;   y = d, or y += d
struct FewRowsPut {
  real* y = nullptr;
  bool add = false;
  const real *bias = nullptr, *before = nullptr;  // bias [width]; before may be y
  real* s = nullptr;
  const real* x = nullptr;
};

struct FewRowsKernels {
  int64_t (*packed_bytes)(int64_t lines, int64_t depth);
  // Element (i, k) of w becomes number k of line i.
  void (*pack)(const Operand& w, int64_t lines, int64_t depth, void* packed);
  // The first `split` units of a product are put by `first`, the others by `second`, whose width is what is left.
  void (*put)(const FewRows& product, int64_t split, const FewRowsPut& first, const FewRowsPut& second);
  // a = sums; then as Kernels::gate
  void (*gate)(const FewRows& product, real* a, const real* x, real* y);
  // The sums are added to the gates; or with a bias they are the gates, less the bias. Then as Kernels::lstm_cell.
  // With norms, of which there are both or none, these are two launches.
  void (*lstm_cell)(const FewRows& product, const LstmStep& step, const real* bias);
  // dh = sums + before, where that is given. Then as Kernels::lstm_cell_gradient.
  void (*lstm_cell_gradient)(const FewRows& product, const LstmStep& step, const real* before, const real* dc,
                             real* dc_prev);
  // The sums are those of h, of gates r z n. Then, and with dh as above, as the kernels of that name.
  void (*gru_cell)(const FewRows& product, const GruStep& step);
  void (*gru_cell_gradient)(const FewRows& product, const GruStep& step, const real* before, real* kept);
  // The sums are added to the step's; or with a bias they are these, less the bias.
  void (*rnn_cell)(const FewRows& product, const RnnStep& step, const real* bias);
  void (*rnn_cell_gradient)(const FewRows& product, const RnnStep& step, const real* before);
};
struct FewRowsProducts {
  FewRowsKernels fp32, tf32, bf16, fp16;
};
const FewRowsProducts* few_rows_products();  // null: this build has none

}  // namespace unroll
