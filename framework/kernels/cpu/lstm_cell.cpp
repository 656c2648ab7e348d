// One step of an LSTM: everything but the products, row by row, so that a row stays in the first cache.
#include "framework/kernels/cpu/hand_on.h"

namespace unroll::cpu::inline UNROLL_ISA {

template <class F>
static void apply(real* x, int64_t n) {
  simd(n, [&](int64_t j) { x[j] = F::value(x[j]); });
}
static void add_products(const real* a, const real* b, real* y, int64_t n) {
  simd(n, [&](int64_t j) { y[j] += a[j] * b[j]; });
}

// Rows of steps long past come from far away: the next one sets out while this one is worked on.
static void fetch(const real* x, int64_t n) {
  for (int64_t j = 0; j < n; j += 64 / sizeof(real)) __builtin_prefetch(x + j);
}

// A row's gates gain the normalised product.
static void add_normed(const LstmStep::Norm& norm, real eps, int64_t row, int64_t n, real* gates) {
  if (!norm.gain) return;
  layer_norm_row(norm.product + row * n, norm.gain, nullptr, eps, n, gates, true, norm.mean[row],
                 norm.rstd[row]);
}
static void normed_gradient(const LstmStep::Norm& norm, int64_t row, int64_t n, const real* d) {
  if (!norm.gain) return;
  real* product = norm.product + row * n;
  layer_norm_row_gradient(product, norm.gain, norm.mean[row], norm.rstd[row], d, n, product, false,
                          norm.dgain + row * n);
}

// i f o = F, g = G of the gates;  c = f·c_prev + i·g;  h = o·G(c), or o·G(the norm of c)
template <class F, class G>
static void forward(const LstmStep& s) {
  each_row(s.batch, s.hidden, 20, [=](int64_t row) {
    const int64_t n = s.hidden, at = row * n, cols = s.gate_count() * n;
    real *i = s.gates + row * cols, *o = i + cols - n, *g = o - n, *f = g - n;  // coupled: i is f
    const real* before = s.c_prev + at;
    const real* of_f = s.peepholes ? s.peepholes + (s.peephole_count() - 2) * n : nullptr;
    const real* of_o = of_f ? of_f + n : nullptr;
    real *state = s.c + at, *out = s.h + at;
    add_normed(s.norm_h, s.norm_eps, row, cols, i);
    if (s.peepholes) {
      if (!s.coupled) add_products(s.peepholes, before, i, n);
      add_products(of_f, before, f, n);
    }
    // One short loop for each function is faster than one loop with all: their constants fit the registers.
    apply<F>(i, cols - 2 * n);  // and f
    apply<G>(g, n);
    if (s.coupled)
      simd(n, [&](int64_t j) { state[j] = lstm_state(1 - f[j], f[j], g[j], before[j]); });
    else
      simd(n, [&](int64_t j) { state[j] = lstm_state(i[j], f[j], g[j], before[j]); });
    if (s.clip > 0) simd(n, [&](int64_t j) { state[j] = s.clip * HardTanh::value(state[j] / s.clip); });
    if (s.peepholes) add_products(of_o, state, o, n);
    apply<F>(o, n);
    const real* seen = state;
    if (s.norm_c.gain) {
      layer_norm_row(state, s.norm_c.gain, s.norm_c.bias, s.norm_eps, n, s.norm_c.y + at, false,
                     s.norm_c.mean[row], s.norm_c.rstd[row]);
      seen = s.norm_c.y + at;
    }
    simd(n, [&](int64_t j) { out[j] = o[j] * G::value(seen[j]); });
    hand_on_row(s.h_on, row, n, out, out);
    hand_on_row(s.c_on, row, n, state, s.c_after ? s.c_after + at : state);
  });
}

// dc += dh·o·G'(c), through the norm where there is one, and then what stands at lstm_state_gradient
template <class F, class G>
static void backward(const LstmStep& s, const real* dh, const real* dc, real* dc_prev) {
  each_row(s.batch, s.hidden, 12, [=](int64_t row) {
    const int64_t n = s.hidden, at = row * n, cols = s.gate_count() * n;
    real *i = s.gates + row * cols, *o = i + cols - n, *g = o - n, *f = g - n;  // coupled: i is f
    const real* of_f = s.peepholes ? s.peepholes + (s.peephole_count() - 2) * n : nullptr;
    const real* of_o = of_f ? of_f + n : nullptr;
    const real *before = s.c_prev + at, *state = s.c + at;
    real* d = dc_prev + at;  // of c, at first
    if (row + 1 < s.batch) {
      fetch(i + cols, cols);
      if (s.norm_h.gain) fetch(s.norm_h.product + (row + 1) * cols, cols);
    }
    const real *dout = hand_back_row(s.h_on, row, n, dh + at), *of_c = hand_back_row(s.c_on, row, n, dc + at);
    if (s.norm_c.gain) {
      real* seen = s.norm_c.y + at;  // and then its gradient
      for (int64_t j = 0; j < n; ++j) d[j] = of_c[j];
      simd(n, [&](int64_t j) { seen[j] = lstm_output_gradient<F, G>(o[j], seen[j], dout[j]); });
      layer_norm_row_gradient(state, s.norm_c.gain, s.norm_c.mean[row], s.norm_c.rstd[row], seen, n, d, true,
                              nullptr);
    } else {
      simd(n, [&](int64_t j) { d[j] = of_c[j] + lstm_output_gradient<F, G>(o[j], state[j], dout[j]); });
    }
    if (s.peepholes) add_products(of_o, o, d, n);
    if (s.clip > 0) simd(n, [&](int64_t j) { d[j] *= HardTanh::slope(0, state[j] / s.clip); });
    if (s.coupled)
      simd(n, [&](int64_t j) { lstm_coupled_gradient<F, G>(f[j], g[j], before[j], d[j]); });
    else
      simd(n, [&](int64_t j) { lstm_state_gradient<F, G>(i[j], f[j], g[j], before[j], d[j]); });
    if (s.peepholes) {
      real *sums = s.dpeepholes + s.peephole_count() * at, *sums_o = sums + (s.peephole_count() - 1) * n;
      if (!s.coupled) add_products(s.peepholes, i, d, n), add_products(before, i, sums, n);
      add_products(of_f, f, d, n);
      add_products(before, f, sums_o - n, n);
      add_products(state, o, sums_o, n);
    }
    if (s.c_on.share) {
      const real* rest = s.c_on.rest_of_before + at;
      simd(n, [&](int64_t j) { d[j] += rest[j]; });
    }
    normed_gradient(s.norm_h, row, cols, i);
  });
}

void lstm_cell(const LstmStep& s) {
  with_gate_function(s.gate,
                     [&]<class F>(F) { with_cell_function(s.cell, [&]<class G>(G) { forward<F, G>(s); }); });
}
void lstm_cell_gradient(const LstmStep& s, const real* dh, const real* dc, real* dc_prev) {
  with_gate_function(s.gate, [&]<class F>(F) {
    with_cell_function(s.cell, [&]<class G>(G) { backward<F, G>(s, dh, dc, dc_prev); });
  });
}

}  // namespace unroll::cpu::inline UNROLL_ISA
