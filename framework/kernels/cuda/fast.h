// Functions of a cell without slow division, for kernels whose products round their factors anyway: the rounding of tf32, the
// finest, is 2^-11. Errors here are relative; those of the two instructions are the manual's (CUDA C++ Programming Guide,
// "Intrinsic Functions"): __expf is off by 2 + 1.173 |x| units of the last place, __fdividef by 2. A unit is at most 2^-23.
//
//   sigmoid, |x| = m, e = __expf(-m):  1 / (1 + e), e / (1 + e).  e counts e/(1 + e) times in the first, 1/(1 + e) times in the
//     second; the sum, the quotient and the product with e add 3 units. In all 5 + 1.173 m, and m ≤ 87.4: below 2^-16.
//   tanh:  as in elementary.h, with this quotient: 2.7 + 1.5 units, below 2^-20.
//   softsign:  a sum and a quotient, 2.5 units.  hard_sigmoid:  1/6 is off by half a unit, so x/6 + 1/2 by 2 units of 1.
#pragma once

#include "framework/kernels/cuda/launch.h"

namespace unroll::cuda {

#ifdef __CUDACC__
UNROLL_KERNEL inline float fast_exp(float x) { return __expf(x); }
// b between 2^-126 and 2^126
UNROLL_KERNEL inline float fast_quotient(float a, float b) { return __fdividef(a, b); }
#else
// As far off as the manual allows, up or down by the bits of x.
inline float off_by(double exact, double units, float x) {
  const double unit = std::ldexp(1.0, std::ilogb(exact != 0 ? exact : 1.0) - 23);
  const bool up = __builtin_bit_cast(uint32_t, x) * 2654435769u >> 31;
  return static_cast<float>(exact + (up ? units : -units) * (exact != 0 ? unit : 0));
}
inline float fast_exp(float x) { return off_by(std::exp(double{x}), 2 + std::floor(std::abs(1.173 * x)), x); }
inline float fast_quotient(float a, float b) { return off_by(double{a} / b, 2, a * b); }
#endif

template <class F>
struct Fast : F {};
template <>
struct Fast<Sigmoid> : Sigmoid {
  UNROLL_KERNEL static float value(float x) {
    const float e = fast_exp(-magnitude(x)), y = fast_quotient(1, 1 + e);
    return x < 0 ? e * y : y;
  }
};
template <>
struct Fast<Tanh> : Tanh {
  UNROLL_KERNEL static float value(float x) {
    float twice = 2 * magnitude(x);
    twice = twice > 30 ? 30 : twice;  // 1 from there on
    const Reduced a = reduce_by_ln2(twice);
    const float power = power_of_two(a), u = power * (exp_tail(a.r) * a.r * a.r + a.r) + (power - 1);
    return from_bits(bits_of(fast_quotient(u, u + 2)) | (bits_of(x) & 0x80000000));
  }
};
template <>
struct Fast<Softsign> : Softsign {
  UNROLL_KERNEL static float value(float x) {
    const float far = 0x1p100f, near = x < -far ? -far : x > far ? far : x;  // ±1 from there on
    return fast_quotient(near, 1 + magnitude(near));
  }
};
template <>
struct Fast<HardSigmoid> : HardSigmoid {
  UNROLL_KERNEL static float value(float x) { return x < -3 ? 0 : x > 3 ? 1 : x * 0.16666667f + 0.5f; }
};

}  // namespace unroll::cuda
