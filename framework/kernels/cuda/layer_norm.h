// Layer norm of rows, for the kernel of that name and for the LSTM's cell. As kernels.h says of it.
#pragma once

#include "framework/kernels/cuda/launch.h"

namespace unroll::cuda {

// y = (x - mean) · rstd · gain + bias,  rstd = 1 / √(mean of (x - mean)² + eps)
struct LayerNorm {
  const real *x, *gain, *bias;
  real eps;
  int64_t cols;
  real* y;
  bool add;
  real *mean, *rstd;
  UNROLL_KERNEL void operator()(const Team& team, int64_t r) const {
    const real* in = x + r * cols;
    real* out = y + r * cols;
    const real first = in[0], part = 1 / static_cast<real>(cols);
    const Two sums = team.sums(cols, [=](int64_t c) {
      const real d = in[c] - first;
      return Two{d, d * d};
    });
    const real shift = sums.a * part, variance = sums.b * part - shift * shift;
    const real m = first + shift, s = 1 / sqrt((variance < 0 ? 0 : variance) + eps);
    team.each(1, [this, r, m, s](int64_t) { mean[r] = m, rstd[r] = s; });
    team.each(cols, [=, this](int64_t c) {
      put(add, out[c], (in[c] - m) * s * gain[c] + (bias ? bias[c] : real{0}));
    });
  }
};

// With x̂ = (x - mean) · rstd and g = dy · gain:
//   dx = rstd (g - mean of g - x̂ · mean of g·x̂)      dgain[r] += dy·x̂      dbias[r] += dy
// dgain and dbias [rows, cols]: each row's own, or null.
struct LayerNormSlope {
  const real *x, *gain, *mean, *rstd, *dy;
  int64_t cols;
  real* dx;
  bool add;
  real *dgain, *dbias;
  UNROLL_KERNEL void operator()(const Team& team, int64_t r) const {
    const int64_t at = r * cols;
    const real m = mean[r], s = rstd[r], part = 1 / static_cast<real>(cols);
    const real *in = x + at, *dout = dy + at;
    const Two sums = team.sums(cols, [=, this](int64_t c) {
      const real normal = (in[c] - m) * s, g = dout[c] * gain[c];
      if (dgain) dgain[at + c] += dout[c] * normal;
      return Two{g, g * normal};
    });
    const real a = sums.a * part, b = sums.b * part;
    team.each(cols, [=, this](int64_t c) {
      if (dbias) dbias[at + c] += dout[c];
      put(add, dx[at + c], s * (dout[c] * gain[c] - a - (in[c] - m) * s * b));
    });
  }
};

}  // namespace unroll::cuda
