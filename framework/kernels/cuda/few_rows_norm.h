// An LSTM's step with layer norm: a product of few rows on all processors, and a team of threads for each row behind it. The product's
// blocks leave their shares of the sums that the rows need, so that no row is read for these alone.
//
//   forward   product | its norm, c, norm of c, h
//   back      dh, and the output's gradient | gradient of c, of the gates, of the product
#pragma once

#include "framework/kernels/cuda/few_rows_sums.h"
#include "framework/kernels/cuda/lstm_cell.h"

namespace unroll::cuda {

// A part's mean and its squares around it, from sums of x - first and of their squares.
UNROLL_KERNEL inline Two around_mean(real first, const Two& sums, int64_t n) {
  const real shift = sums.a / static_cast<real>(n), squares = sums.b - sums.a * shift;
  return {first + shift, squares < 0 ? 0 : squares};
}

// The product, where the norm finds it.
struct ProductForNorm {
  LstmStep s;
  RowParts parts;
  UNROLL_KERNEL void operator()(int64_t row, int64_t unit, const real* sums) const {
    real* const product = s.norm_h.product + row * s.gate_count() * s.hidden + unit;
    for (int64_t g = 0; g < s.gate_count(); ++g) product[g * s.hidden] = sums[g];
  }
  UNROLL_KERNEL void of_block(int64_t row, int64_t, int units, const real* sums) const {
    const int gates = static_cast<int>(s.gate_count());
    Two all{0, 0};
    for (int u = 0; u < units; ++u)
      for (int g = 0; g < gates; ++g) {
        const real d = sums[4 * u + g] - sums[0];
        all.a += d, all.b += d * d;
      }
    parts.of(row, blockIdx.x) = around_mean(sums[0], all, int64_t{units} * gates);
  }
};

// The gradient of the product's sums. Gradient of c's norm: it takes the place of norm_c.y.
struct OutputSlope {
  LstmStep s;
  const real* before;
  RowParts parts;
  UNROLL_KERNEL SlopeOfRow slope(int64_t row) const {
    return {s.c + row * s.hidden, row, s.hidden, s.norm_c.gain, s.norm_c.mean, s.norm_c.rstd};
  }
  UNROLL_KERNEL void operator()(int64_t row, int64_t unit, const real* sum) const {
    const int64_t at = row * s.hidden + unit;
    real &o = s.gates[Unit(s, at, unit).o], &y = s.norm_c.y[at];
    const real d = before ? *sum + before[at] : *sum;
    with_functions(s, [&]<class F, class G>(F, G) {
      y = CellSlope<F, G>{s, nullptr, nullptr, nullptr}.output(at, d, y, o);
    });
  }
  UNROLL_KERNEL void of_block(int64_t row, int64_t first_unit, int units, const real*) const {
    const SlopeOfRow of_c = slope(row);
    Two all{0, 0};
    for (int64_t j = first_unit; j < first_unit + units; ++j) {
      const Two terms = of_c.terms(j, s.norm_c.y[row * s.hidden + j]);
      all.a += terms.a, all.b += terms.b;
    }
    parts.of(row, blockIdx.x) = all;
  }
};

// Room for what the blocks of a product give. of_unit: numbers of a row that a unit has.
inline RowParts parts_of_blocks(const FewRows& p, int64_t of_unit) {
  const FewRowsBlocks blocks(p);
  auto* const room =
      static_cast<Two*>(gpu::workspace(static_cast<std::size_t>(p.rows * blocks.count) * sizeof(Two)));
  return {room, blocks.count, blocks.units * of_unit, p.width * of_unit};
}

template <class P>
void normed_lstm_cell(const FewRows& p, const LstmStep& s) {
  const RowParts parts = parts_of_blocks(p, p.gates);
  multiply_few_rows<P>(p, ProductForNorm{s, parts});
  normed_rows(s, parts);
}

template <class P>
void normed_lstm_cell_gradient(const FewRows& p, const LstmStep& s, const real* before, const real* dc,
                               real* dc_prev) {
  const RowParts parts = parts_of_blocks(p, 1);
  multiply_few_rows<P>(p, OutputSlope{s, before, parts});
  normed_rows_gradient(s, dc, dc_prev, parts);
}

}  // namespace unroll::cuda
