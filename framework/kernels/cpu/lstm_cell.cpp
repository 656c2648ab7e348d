// One step of an LSTM: everything but the products, row by row, so that a row stays in the first cache.
#include "framework/kernels/cpu/fill.h"
#include "framework/kernels/cpu/launch.h"

namespace unroll::inline UNROLL_REAL::cpu::inline UNROLL_ISA {
namespace {

// i f o = σ, g = tanh of the gates;  c = f·c_prev + i·g;  h = o·tanh(c)
void lstm_cell(real* gates, const real* c_prev, int64_t batch, int64_t hidden, real* c, real* h) {
  each_row(batch, hidden, 2, [=](int64_t row) {
    real *i = gates + row * 4 * hidden, *f = i + hidden, *g = f + hidden, *o = g + hidden;
    const real* before = c_prev + row * hidden;
    real *state = c + row * hidden, *out = h + row * hidden;
    // One short loop for each function is faster than one loop with all: their constants fit the registers.
#pragma omp simd
    for (int64_t j = 0; j < 2 * hidden; ++j) i[j] = sigmoid(i[j]);  // and f
#pragma omp simd
    for (int64_t j = 0; j < hidden; ++j) g[j] = tanh(g[j]);
#pragma omp simd
    for (int64_t j = 0; j < hidden; ++j) o[j] = sigmoid(o[j]);
#pragma omp simd
    for (int64_t j = 0; j < hidden; ++j) lstm_unit(i[j], f[j], g[j], o[j], before[j], state[j], out[j]);
  });
}

void lstm_cell_gradient(real* gates, const real* c_prev, const real* c, const real* dh, const real* dc,
                        int64_t batch, int64_t hidden, real* dc_prev) {
  each_row(batch, hidden, 2, [=](int64_t row) {
    real *i = gates + row * 4 * hidden, *f = i + hidden, *g = f + hidden, *o = g + hidden;
    const int64_t at = row * hidden;
    const real *before = c_prev + at, *state = c + at, *dout = dh + at, *dstate = dc + at;
    real* dbefore = dc_prev + at;
#pragma omp simd
    for (int64_t j = 0; j < hidden; ++j) {
      lstm_unit_gradient(i[j], f[j], g[j], o[j], before[j], state[j], dout[j], dstate[j], dbefore[j]);
    }
  });
}

}  // namespace

void fill_lstm_cell(Kernels& k) noexcept {
  k.lstm_cell = lstm_cell;
  k.lstm_cell_gradient = lstm_cell_gradient;
}

}  // namespace unroll::inline UNROLL_REAL::cpu::inline UNROLL_ISA
