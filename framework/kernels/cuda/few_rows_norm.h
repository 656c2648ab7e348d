// An LSTM's step with layer norm, spread over all processors. A row's mean wants what all blocks have, so the product and what
// follows it are three launches each way: each leaves its blocks' share of the sums that the next one needs.
//
//   forward   product;   norm of it, and c;   norm of c, and h
//   back      dh, and the output's gradient;   gradient of c and of the gates;   gradient of the product
#pragma once

#include "framework/kernels/cuda/few_rows_sums.h"
#include "framework/kernels/cuda/lstm_cell.h"

namespace unroll::cuda {

// A block of these launches has so many units of one row.
inline constexpr int units_of_team = 64;
using UnitsTeam = TeamOf<units_of_team>;

// The parts of a row that blocks have, `of_part` numbers each but the last, and what each gives: [rows, parts].
struct RowParts {
  Two* given;
  int64_t count, of_part, size;
  UNROLL_KERNEL Two& of(int64_t row, int64_t part) const { return given[row * count + part]; }
  UNROLL_KERNEL Two sums(const UnitsTeam& team, int64_t row) const {
    return team.sums(count, [=, this](int64_t i) { return of(row, i); });
  }
  // Each part's mean, and its squares around it -> the row's mean and rstd.
  UNROLL_KERNEL Two mean_and_rstd(const UnitsTeam& team, int64_t row, real eps) const {
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

// The work of a team of 64 threads: row blockIdx.y, units from 64·blockIdx.x on.
struct UnitsOfRow {
  int64_t row = blockIdx.y, begin = int64_t{blockIdx.x} * units_of_team, count;
  UNROLL_KERNEL explicit UnitsOfRow(int64_t hidden)
      : count(hidden - begin < units_of_team ? hidden - begin : units_of_team) {}
};

static __global__ void UNROLL_THREADS(units_of_team)
    normed_state(LstmStep s, RowParts of_product, RowParts of_c) {
  const UnitsTeam team;
  const UnitsOfRow here(s.hidden);
  const int64_t first = here.row * s.hidden, cols = s.gate_count() * s.hidden, gates = here.row * cols;
  const Two moments = of_product.mean_and_rstd(team, here.row, s.norm_eps);
  const NormOfRow norm(s.norm_h.product + gates, s.norm_h.gain, moments);
  if (blockIdx.x == 0) norm.keep(team, here.row, s.norm_h.mean, s.norm_h.rstd);
  team.each(here.count, [&](int64_t i) {
    const int64_t j = here.begin + i;
    const Unit u(s, first + j, j);
    const auto sum = [&](int64_t gate) {
      return s.gates[gate] + norm.normal(gate - gates) * s.norm_h.gain[gate - gates];
    };
    const Gates sums{sum(u.i), sum(u.f), sum(u.g), sum(u.o)};
    with_functions(s, [&]<class F, class G>(F, G) { CellValue<F, G>{s}.state(first + j, u, sums); });
  });
  const real* const c = s.c + first + here.begin;
  const real shift = c[0];
  const Two sums = team.sums(here.count, [=](int64_t i) {
    const real d = c[i] - shift;
    return Two{d, d * d};
  });
  if (threadIdx.x == 0) of_c.of(here.row, blockIdx.x) = around_mean(shift, sums, here.count);
}

static __global__ void UNROLL_THREADS(units_of_team) normed_output(LstmStep s, RowParts of_c) {
  const UnitsTeam team;
  const UnitsOfRow here(s.hidden);
  const int64_t first = here.row * s.hidden;
  const NormOfRow norm(s.c + first, s.norm_c.gain, of_c.mean_and_rstd(team, here.row, s.norm_eps));
  if (blockIdx.x == 0) norm.keep(team, here.row, s.norm_c.mean, s.norm_c.rstd);
  team.each(here.count, [&](int64_t i) {
    const int64_t j = here.begin + i, at = first + j;
    const real seen = norm.normal(j) * s.norm_c.gain[j] + s.norm_c.bias[j];
    s.norm_c.y[at] = seen;
    with_functions(
        s, [&]<class F, class G>(F, G) { CellValue<F, G>{s}.output(at, s.gates[Unit(s, at, j).o], seen); });
  });
}

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
    s.norm_c.dgain[at] += y * slope(row).normal(unit), s.norm_c.dbias[at] += y;
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

static __global__ void UNROLL_THREADS(units_of_team)
    normed_state_gradient(LstmStep s, const real* dc, real* dc_prev, RowParts of_c, RowParts of_product) {
  const UnitsTeam team;
  const UnitsOfRow here(s.hidden);
  const int64_t n = s.hidden, first = here.row * n, cols = s.gate_count() * n, gates = here.row * cols;
  const SlopeOfRow c(s.c + first, here.row, n, s.norm_c.gain, s.norm_c.mean, s.norm_c.rstd);
  const SlopeOfRow h(s.norm_h.product + gates, here.row, cols, s.norm_h.gain, s.norm_h.mean, s.norm_h.rstd);
  const Two sums_c = of_c.sums(team, here.row);
  const Two sums_h = team.sums(here.count, [&](int64_t i) {
    const int64_t j = here.begin + i, at = first + j;
    const Unit u(s, at, j);
    Gates d = u.read(s.gates);
    const real of_state = handed_back(s.c_on, at, n, dc[at]) + c.slope(j, s.norm_c.y[at], sums_c);
    with_functions(s, [&]<class F, class G>(F, G) {
      d = CellSlope<F, G>{s, nullptr, dc, dc_prev}.state(at, u, d, of_state);
    });
    return terms_of_h(s, h, gates, u, d);
  });
  if (threadIdx.x == 0) of_product.of(here.row, blockIdx.x) = sums_h;
}

static __global__ void UNROLL_THREADS(units_of_team)
    normed_product_gradient(LstmStep s, RowParts of_product) {
  const UnitsTeam team;
  const UnitsOfRow here(s.hidden);
  const int64_t cols = s.gate_count() * s.hidden, gates = here.row * cols;
  const SlopeOfRow h(s.norm_h.product + gates, here.row, cols, s.norm_h.gain, s.norm_h.mean, s.norm_h.rstd);
  const Two sums = of_product.sums(team, here.row);
  team.each(here.count, [&](int64_t i) {
    for (int64_t c = here.begin + i; c < cols; c += s.hidden) {
      const real d = h.slope(c, s.gates[gates + c], sums);
      s.norm_h.product[gates + c] = d;
      put_rounded(s.rounded_gates, gates + c, d);
    }
  });
}

// Room for what the blocks of a product and those of units give: the first of the blocks, and of 64 units each.
struct NormParts {
  RowParts of_blocks, of_units;
  dim3 grid;
  // of_block: numbers of a row that a block of the product has.
  NormParts(const LstmStep& s, int64_t blocks, int64_t of_block, int64_t block_size, int64_t of_unit) {
    const int64_t teams = (s.hidden + units_of_team - 1) / units_of_team;
    auto* const room =
        static_cast<Two*>(gpu::workspace(static_cast<std::size_t>(s.batch * (blocks + teams)) * sizeof(Two)));
    of_blocks = {room, blocks, of_block, block_size};
    of_units = {room + s.batch * blocks, teams, units_of_team * of_unit, s.hidden * of_unit};
    grid = dim3(static_cast<unsigned>(teams), static_cast<unsigned>(s.batch));
  }
};

template <class P>
void normed_lstm_cell(const FewRows& p, const LstmStep& s) {
  const FewRowsBlocks blocks(p);
  const NormParts parts(s, blocks.count, blocks.units * p.gates, p.gates * p.width, 1);
  multiply_few_rows<P>(p, ProductForNorm{s, parts.of_blocks});
  launch(normed_state, parts.grid, units_of_team, s, parts.of_blocks, parts.of_units);
  launch(normed_output, parts.grid, units_of_team, s, parts.of_units);
}

template <class P>
void normed_lstm_cell_gradient(const FewRows& p, const LstmStep& s, const real* before, const real* dc,
                               real* dc_prev) {
  const FewRowsBlocks blocks(p);
  const NormParts parts(s, blocks.count, blocks.units, p.width, s.gate_count());
  multiply_few_rows<P>(p, OutputSlope{s, before, parts.of_blocks});
  launch(normed_state_gradient, parts.grid, units_of_team, s, dc, dc_prev, parts.of_blocks, parts.of_units);
  launch(normed_product_gradient, parts.grid, units_of_team, s, parts.of_units);
}

}  // namespace unroll::cuda
