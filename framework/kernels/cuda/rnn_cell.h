// A unit of a plain recurrent network in one step, once there are its sums.
#pragma once

#include "framework/kernels/cuda/hand_on.h"

namespace unroll::cuda {

template <class F>
struct RnnValue {
  RnnStep s;
  UNROLL_KERNEL void operator()(int64_t at) const {
    const real h = F::value(s.sums[at]);
    s.sums[at] = h;
    s.h[at] = handed_on(s.h_on, at, s.hidden, h);
  }
};
template <class F>
struct RnnSlope {
  RnnStep s;
  const real* dh;
  UNROLL_KERNEL void operator()(int64_t at) const { (*this)(at, dh[at]); }
  // d_of_h: as HandOn takes it.
  UNROLL_KERNEL void operator()(int64_t at, real d_of_h) const {
    const real d = handed_back(s.h_on, at, s.hidden, d_of_h) * F::slope(0, s.sums[at]);
    s.sums[at] = d;
    put_rounded(s.rounded_sums, at, d);
  }
};

}  // namespace unroll::cuda
