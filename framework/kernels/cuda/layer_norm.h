// Layer norm of rows, for the kernel of that name and for the LSTM's cell. As kernels.h says of it.
#pragma once

#include "framework/kernels/cuda/launch.h"

namespace unroll::cuda {

// A row's numbers less their mean, times rstd = 1 / √(mean of (x - mean)² + eps). Without a gain there is no norm.
struct NormOfRow {
  const real *x, *gain;
  real mean = 0, rstd = 0;
  template <class AnyTeam>
  UNROLL_KERNEL NormOfRow(const AnyTeam& team, const real* x, int64_t cols, real eps, const real* gain)
      : x(x), gain(gain) {
    if (!gain) return;
    const real part = 1 / static_cast<real>(cols);
    real m = x[0], shift, variance;
    int passes = 0;
    do {  // twice where x[0] lies far out, as on a CPU: all threads have the same sums
      const Two sums = team.sums(cols, [=](int64_t c) {
        const real d = x[c] - m;
        return Two{d, d * d};
      });
      shift = sums.a * part, variance = sums.b * part - shift * shift, m += shift;
    } while (++passes < 2 && shift * shift > 4 * variance);
    mean = m, rstd = 1 / sqrt((variance < 0 ? 0 : variance) + eps);
  }
  // From its mean and rstd.
  UNROLL_KERNEL NormOfRow(const real* x, const real* gain, const Two& moments)
      : x(x), gain(gain), mean(moments.a), rstd(moments.b) {}
  // For the gradient; row r.
  template <class AnyTeam>
  UNROLL_KERNEL void keep(const AnyTeam& team, int64_t r, real* means, real* rstds) const {
    if (gain) team.each(1, [=, this](int64_t) { means[r] = mean, rstds[r] = rstd; });
  }
  UNROLL_KERNEL real normal(int64_t c) const { return (x[c] - mean) * rstd; }
};

// Its gradient. With x̂ the normalised number and g = dy · gain:  dx = rstd (g - mean of g - x̂ · mean of g·x̂)
struct SlopeOfRow {
  const real *x, *gain;
  real mean = 0, rstd = 0, part;
  UNROLL_KERNEL SlopeOfRow(const real* x, int64_t r, int64_t cols, const real* gain, const real* means,
                           const real* rstds)
      : SlopeOfRow(x, r, 1 / static_cast<real>(cols), gain, means, rstds) {}
  // part: 1 / cols, for those who need it for many rows
  UNROLL_KERNEL SlopeOfRow(const real* x, int64_t r, real part, const real* gain, const real* means,
                           const real* rstds)
      : x(x), gain(gain), part(part) {
    if (gain) mean = means[r], rstd = rstds[r];
  }
  UNROLL_KERNEL real normal(int64_t c) const { return (x[c] - mean) * rstd; }
  // Element c's terms in the two means.
  UNROLL_KERNEL Two terms(int64_t c, real dy) const {
    const real g = dy * gain[c];
    return {g, g * normal(c)};
  }
  // dx, with the sums of terms
  UNROLL_KERNEL real slope(int64_t c, real dy, const Two& sums) const {
    return rstd * (dy * gain[c] - sums.a * part - normal(c) * (sums.b * part));
  }
};

// y = (x - mean) · rstd · gain + bias
struct LayerNorm {
  const real *x, *gain, *bias;
  real eps;
  int64_t cols;
  real* y;
  bool add;
  real *mean, *rstd;
  UNROLL_KERNEL void operator()(const Team& team, int64_t r) const {
    const NormOfRow row(team, x + r * cols, cols, eps, gain);
    row.keep(team, r, mean, rstd);
    real* out = y + r * cols;
    team.each(cols,
              [&](int64_t c) { put(add, out[c], row.normal(c) * gain[c] + (bias ? bias[c] : real{0})); });
  }
};

struct LayerNormSlope {
  const real *x, *gain, *mean, *rstd, *dy;
  int64_t cols;
  real* dx;
  bool add;
  UNROLL_KERNEL void operator()(const Team& team, int64_t r) const {
    const int64_t at = r * cols;
    const SlopeOfRow row(x + at, r, cols, gain, mean, rstd);
    const real* dout = dy + at;
    const Two sums = team.sums(cols, [&](int64_t c) { return row.terms(c, dout[c]); });
    team.each(cols, [&](int64_t c) { put(add, dx[at + c], row.slope(c, dout[c], sums)); });
  }
};

}  // namespace unroll::cuda
