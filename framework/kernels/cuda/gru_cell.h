// A unit of a GRU in one step, once there are the sums of x and of h.
#pragma once

#include "framework/kernels/cuda/hand_on.h"

namespace unroll::cuda {

// A unit's gates, or the sums that they come of; and its reset: h's sum for n, with its bias.
struct GruGates {
  real r, z, n;
};
struct GruUnit {
  GruGates gates;
  real reset, h;
};
// F of r and z, G of n. sums: of x; from_h: of h.
template <class F, class G>
UNROLL_KERNEL GruUnit gru_unit(const GruGates& sums, const GruGates& from_h, real bias_hn, real h_prev) {
  const real r = F::value(sums.r + from_h.r), z = F::value(sums.z + from_h.z), reset = from_h.n + bias_hn;
  const real n = G::value(sums.n + r * reset);
  return {{r, z, n}, reset, (1 - z) * n + z * h_prev};
}

struct GruValue {
  GruStep s;
  UNROLL_KERNEL void operator()(int64_t at) const {
    const int64_t j = rest_of(at, s.hidden), first = 3 * (at - j) + j;
    real *r = s.gates + first, *z = r + s.hidden, *n = z + s.hidden;
    const real* from_h = s.sums + first;
    real* reset = s.sums + first + 2 * s.hidden;
    const GruUnit x = gru_unit<Sigmoid, Tanh>({*r, *z, *n}, {from_h[0], from_h[s.hidden], *reset},
                                              s.bias_hn[j], s.h_prev[at]);
    *r = x.gates.r, *z = x.gates.z, *n = x.gates.n, *reset = x.reset;
    s.h[at] = handed_on(s.h_on, at, s.hidden, x.h);
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
