// A unit of a GRU in one step, once there are the sums of x and of h.
#pragma once

#include "framework/kernels/cuda/hand_on.h"

namespace unroll::cuda {

struct GruValue {
  GruStep s;
  UNROLL_KERNEL void operator()(int64_t at) const {
    const int64_t j = rest_of(at, s.hidden), first = 3 * (at - j) + j;
    real *of_r = s.gates + first, *of_z = of_r + s.hidden, *of_n = of_z + s.hidden;
    const real* from_h = s.sums + first;
    real* reset = s.sums + first + 2 * s.hidden;
    const real r = sigmoid(*of_r + from_h[0]), z = sigmoid(*of_z + from_h[s.hidden]);
    *reset += s.bias_hn[j];
    const real n = tanh(*of_n + r * *reset);
    *of_r = r, *of_z = z, *of_n = n;
    s.h[at] = handed_on(s.h_on, at, s.hidden, (1 - z) * n + z * s.h_prev[at]);
  }
};

// Checks the arguments that both directions are given.
inline void check_step(const GruStep& s) {
  const int64_t n = s.batch * s.hidden;
  changed(s.gates, 3 * n), changed(s.sums, 3 * n), given(s.h_prev, n);
  check_hand_on(s.h_on, s.batch, s.hidden);
}

struct GruSlope {
  GruStep s;
  const real* dh;
  real* kept;
  UNROLL_KERNEL void operator()(int64_t at) const { (*this)(at, dh[at]); }
  // d_of_h: as HandOn takes it.
  UNROLL_KERNEL void operator()(int64_t at, real d_of_h) const {
    const int64_t j = rest_of(at, s.hidden), first = 3 * (at - j) + j;
    real *r = s.gates + first, *z = r + s.hidden, *n = z + s.hidden;
    real *dr = s.sums + first, *dz = dr + s.hidden, *reset = dz + s.hidden;
    const real d = handed_back(s.h_on, at, s.hidden, d_of_h);
    gru_unit_gradient(*r, *z, *n, *reset, s.h_prev[at], d, kept[at]);
    *dr = *r, *dz = *z;
    put_rounded(s.rounded_sums, first, *dr);
    put_rounded(s.rounded_sums, first + s.hidden, *dz);
    put_rounded(s.rounded_sums, first + 2 * s.hidden, *reset);
  }
};

}  // namespace unroll::cuda
