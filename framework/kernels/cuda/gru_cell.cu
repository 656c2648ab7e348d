// One step of a GRU: everything but the products, unit by unit.
#include "framework/kernels/cuda/fill.h"
#include "framework/kernels/cuda/launch.h"

namespace unroll::cuda {
namespace {

struct GruValue {
  real *gates, *sums;
  const real *bias_hn, *h_prev;
  int64_t hidden;
  real* h;
  UNROLL_KERNEL void operator()(int64_t at) const {
    const int64_t j = at % hidden, first = 3 * (at - j) + j;
    real *of_r = gates + first, *of_z = of_r + hidden, *of_n = of_z + hidden;
    const real* from_h = sums + first;
    real* reset = sums + first + 2 * hidden;
    const real r = sigmoid(*of_r + from_h[0]), z = sigmoid(*of_z + from_h[hidden]);
    *reset += bias_hn[j];
    const real n = tanh(*of_n + r * *reset);
    *of_r = r, *of_z = z, *of_n = n;
    h[at] = (1 - z) * n + z * h_prev[at];
  }
};
void gru_cell(real* gates, real* sums, const real* bias_hn, const real* h_prev, int64_t batch, int64_t hidden,
              real* h) {
  const int64_t n = batch * hidden;
  each(n, GruValue{given(gates, 3 * n), given(sums, 3 * n), given(bias_hn, hidden), given(h_prev, n), hidden,
                   given(h, n)});
}

struct GruSlope {
  real *gates, *sums;
  const real *h_prev, *dh;
  int64_t hidden;
  real* kept;
  UNROLL_KERNEL void operator()(int64_t at) const {
    const int64_t j = at % hidden, first = 3 * (at - j) + j;
    real *r = gates + first, *z = r + hidden, *n = z + hidden;
    real *dr = sums + first, *dz = dr + hidden, *reset = dz + hidden;
    gru_unit_gradient(*r, *z, *n, *reset, h_prev[at], dh[at], kept[at]);
    *dr = *r, *dz = *z;
  }
};
void gru_cell_gradient(real* gates, real* sums, const real* h_prev, const real* dh, int64_t batch,
                       int64_t hidden, real* kept) {
  const int64_t n = batch * hidden;
  each(n, GruSlope{given(gates, 3 * n), given(sums, 3 * n), given(h_prev, n), given(dh, n), hidden,
                   given(kept, n)});
}

}  // namespace

void fill_gru_cell(Kernels& k) {
  k.gru_cell = gru_cell;
  k.gru_cell_gradient = gru_cell_gradient;
}

}  // namespace unroll::cuda
