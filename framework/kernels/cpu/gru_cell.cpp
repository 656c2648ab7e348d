// One step of a GRU: everything but the products, row by row.
#include "framework/kernels/cpu/fill.h"
#include "framework/kernels/cpu/launch.h"

namespace unroll::cpu::inline UNROLL_ISA {
namespace {

void gru_cell(real* gates, real* sums, const real* bias_hn, const real* h_prev, int64_t batch, int64_t hidden,
              real* h) {
  each_row(batch, hidden, 14, [=](int64_t row) {
    real *r = gates + row * 3 * hidden, *z = r + hidden, *n = z + hidden;
    real *from_h = sums + row * 3 * hidden, *reset = from_h + 2 * hidden;
    const real* before = h_prev + row * hidden;
    real* out = h + row * hidden;
#pragma omp simd
    for (int64_t j = 0; j < 2 * hidden; ++j) r[j] = sigmoid(r[j] + from_h[j]);  // and z
#pragma omp simd
    for (int64_t j = 0; j < hidden; ++j) {
      reset[j] += bias_hn[j];
      n[j] = tanh(n[j] + r[j] * reset[j]);
    }
#pragma omp simd
    for (int64_t j = 0; j < hidden; ++j) out[j] = (1 - z[j]) * n[j] + z[j] * before[j];
  });
}

void gru_cell_gradient(real* gates, real* sums, const real* h_prev, const real* dh, int64_t batch,
                       int64_t hidden, real* kept) {
  each_row(batch, hidden, 10, [=](int64_t row) {
    real *r = gates + row * 3 * hidden, *z = r + hidden, *n = z + hidden;
    real *dr = sums + row * 3 * hidden, *dz = dr + hidden, *reset = dz + hidden;
    const int64_t at = row * hidden;
#pragma omp simd
    for (int64_t j = 0; j < hidden; ++j) {
      gru_unit_gradient(r[j], z[j], n[j], reset[j], h_prev[at + j], dh[at + j], kept[at + j]);
      dr[j] = r[j];
      dz[j] = z[j];
    }
  });
}

}  // namespace

void fill_gru_cell(Kernels& k) noexcept {
  k.gru_cell = gru_cell;
  k.gru_cell_gradient = gru_cell_gradient;
}

}  // namespace unroll::cpu::inline UNROLL_ISA
