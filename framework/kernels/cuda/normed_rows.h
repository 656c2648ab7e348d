// A step of an LSTM whose rows are normalised, each by a team of threads; and what a product's blocks know of its rows.
#pragma once

#include "framework/kernels/cuda/lstm_cell.h"

namespace unroll::cuda {

// The parts of a row that blocks have, `of_part` numbers each but the last, and what each gives: [rows, parts].
struct RowParts {
  Two* given;
  int64_t count, of_part, size;
  UNROLL_KERNEL Two& of(int64_t row, int64_t part) const { return given[row * count + part]; }
  UNROLL_KERNEL Two sums(const WideTeam& team, int64_t row) const {
    return team.sums(count, [=, this](int64_t i) { return of(row, i); });
  }
  // Each part's mean, and its squares around it -> the row's mean and rstd.
  UNROLL_KERNEL Two mean_and_rstd(const WideTeam& team, int64_t row, real eps) const {
    const real first = of(row, 0).a;
    const Two all = team.sums(count, [=, this](int64_t i) {
      const Two part = of(row, i);
      const int64_t left = size - i * of_part;
      const real n = static_cast<real>(left < of_part ? left : of_part), d = part.a - first;
      return Two{n * d, part.b + n * d * d};
    });
    const real shift = all.a / static_cast<real>(size),
               variance = all.b / static_cast<real>(size) - shift * shift;
    return {first + shift, 1 / sqrt((variance < 0 ? 0 : variance) + eps)};
  }
};

// lstm_cell.cu: Kernels::lstm_cell with the norms of h and c, where blocks gave each their mean of h's product, and their squares
// around it.
void normed_rows(const LstmStep& s, const RowParts& of_product);
// Its gradient, behind that of the output: norm_c.y is the gradient of c's norm, blocks gave their terms of its sums, and gate o has
// its gradient.
void normed_rows_gradient(const LstmStep& s, const real* dc, real* dc_prev, const RowParts& of_c);

}  // namespace unroll::cuda
