// One step of a plain recurrent network: everything but the products, row by row; and what happens between steps by itself.
#include "framework/kernels/cpu/hand_on.h"

namespace unroll::cpu::inline UNROLL_ISA {

void rnn_cell(const RnnStep& s) {
  with_cell_function(s.f, [&]<class F>(F) {
    each_row(s.batch, s.hidden, 4, [=](int64_t row) {
      real *sums = s.sums + row * s.hidden, *h = s.h + row * s.hidden;
      simd(s.hidden, [&](int64_t j) { sums[j] = F::value(sums[j]); });
      hand_on_row(s.h_on, row, s.hidden, sums, h);
    });
  });
}

void rnn_cell_gradient(const RnnStep& s, const real* dh) {
  with_cell_function(s.f, [&]<class F>(F) {
    each_row(s.batch, s.hidden, 2, [=](int64_t row) {
      real* sums = s.sums + row * s.hidden;
      const real* d = hand_back_row(s.h_on, row, s.hidden, dh + row * s.hidden);
      simd(s.hidden, [&](int64_t j) { sums[j] = d[j] * F::slope(0, sums[j]); });
    });
  });
}

void hand_on(const HandOn& on, const real* computed, int64_t batch, int64_t width, real* state) {
  each_row(batch, width, 1,
           [=](int64_t row) { hand_on_row(on, row, width, computed + row * width, state + row * width); });
}
void hand_on_gradient(const HandOn& given, const real* d, int64_t batch, int64_t width, real* d_computed) {
  HandOn on = given;
  on.room = d_computed;
  each_row(batch, width, 1, [=](int64_t row) {
    const real* result = hand_back_row(on, row, width, d + row * width);
    real* to = d_computed + row * width;
    if (result != to) simd(width, [&](int64_t j) { to[j] = result[j]; });
  });
}

}  // namespace unroll::cpu::inline UNROLL_ISA
