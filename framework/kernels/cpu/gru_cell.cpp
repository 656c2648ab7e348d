// One step of a GRU: everything but the products, row by row.
#include "framework/kernels/cpu/hand_on.h"

namespace unroll::cpu::inline UNROLL_ISA {

void gru_cell(const GruStep& s) {
  each_row(s.batch, s.hidden, 14, [=](int64_t row) {
    const int64_t hidden = s.hidden;
    real *r = s.gates + row * 3 * hidden, *z = r + hidden, *n = z + hidden;
    real *from_h = s.sums + row * 3 * hidden, *reset = from_h + 2 * hidden;
    const real *before = s.h_prev + row * hidden, *bias_hn = s.bias_hn;
    real* out = s.h + row * hidden;
    simd(2 * hidden, [&](int64_t j) { r[j] = sigmoid(r[j] + from_h[j]); });  // and z
    simd(hidden, [&](int64_t j) {
      reset[j] += bias_hn[j];
      n[j] = tanh(n[j] + r[j] * reset[j]);
    });
    simd(hidden, [&](int64_t j) { out[j] = (1 - z[j]) * n[j] + z[j] * before[j]; });
    hand_on_row(s.h_on, row, hidden, out, out);
  });
}

void gru_cell_gradient(const GruStep& s, const real* dh, real* kept) {
  each_row(s.batch, s.hidden, 10, [=](int64_t row) {
    const int64_t hidden = s.hidden, at = row * hidden;
    real *r = s.gates + 3 * at, *z = r + hidden, *n = z + hidden;
    real *dr = s.sums + 3 * at, *dz = dr + hidden, *reset = dz + hidden;
    const real *d = hand_back_row(s.h_on, row, hidden, dh + at), *before = s.h_prev + at;
    simd(hidden, [&](int64_t j) {
      gru_unit_gradient(r[j], z[j], n[j], reset[j], before[j], d[j], kept[at + j]);
      dr[j] = r[j];
      dz[j] = z[j];
    });
  });
}

}  // namespace unroll::cpu::inline UNROLL_ISA
