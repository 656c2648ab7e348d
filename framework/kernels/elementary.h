// exp, log, tanh, erf and relatives of one number.
//
// Back ends put formulas behind their own launch helpers, and compile them for several instruction sets. Files
// compiled for different machines must not share a copy of a function. So everything here and in pointwise.h is
// inlined without exception and lives in the inline namespace UNROLL_ISA.
#pragma once

#include <cmath>
#include <cstdint>

#ifndef UNROLL_ISA
#define UNROLL_ISA portable
#endif
#ifdef __CUDACC__
#define UNROLL_FORMULA __host__ __device__ __forceinline__
#define UNROLL_CHOICE __forceinline__  // on the host: what is chosen is a kernel
#else
#define UNROLL_FORMULA [[gnu::always_inline]] inline
#define UNROLL_CHOICE UNROLL_FORMULA
#endif

namespace unroll::pointwise::inline UNROLL_ISA {

// In float: free of branches, so that loops over arrays turn into vector instructions, and right for
// infinities, NaN and denormal numbers. Coefficients are minimax fits (Remez exchange). Errors are in units
// of the last place, the largest over every 19th float. In double: the C library's.

UNROLL_FORMULA uint32_t bits_of(float x) { return __builtin_bit_cast(uint32_t, x); }
UNROLL_FORMULA float from_bits(uint32_t bits) { return __builtin_bit_cast(float, bits); }
UNROLL_FORMULA float magnitude(float x) { return from_bits(bits_of(x) & 0x7fffffff); }

// x = n ln 2 + r,  |r| ≤ ln 2 / 2
struct Reduced {
  uint32_t low_bits;  // n + 127 in the last bits, that is the exponent of 2^n
  float r;
};
UNROLL_FORMULA Reduced reduce_by_ln2(float x) {
  constexpr float round = 12582912.0f + 127.0f;  // adding 1.5 · 2^23 leaves an integer in the last bits
  const float shifted = x * 1.44269504f + round;
  const float n = shifted - round;
  return {bits_of(shifted), (x - n * 0.693359375f) + n * 2.12194440e-4f};
}
UNROLL_FORMULA float power_of_two(Reduced a) { return from_bits(a.low_bits << 23); }  // -126 ≤ n ≤ 127
// (e^r - 1 - r) / r² for |r| ≤ ln 2 / 2
UNROLL_FORMULA float exp_tail(float r) {
  float q = 0.0013814540579915047f;
  q = q * r + 0.00836874544620514f;
  q = q * r + 0.04166838899254799f;
  q = q * r + 0.1666652113199234f;
  return q * r + 0.4999999403953552f;
}

// e^x = 2^n e^r.  Error below 1.2.
UNROLL_FORMULA float exp(float x) {
  x = x > 89.0f ? 89.0f : x;      // infinite from there on
  x = x < -104.0f ? -104.0f : x;  // zero
  const Reduced a = reduce_by_ln2(x);
  const float power = (exp_tail(a.r) * a.r + 1.0f) * a.r + 1.0f;
  const int32_t n = static_cast<int32_t>(a.low_bits - bits_of(12582912.0f)) - 127;
  const int32_t half = n >> 1;  // 2^n in two factors, for results near either end of the range
  return power * from_bits(static_cast<uint32_t>(half + 127) << 23) *
         from_bits(static_cast<uint32_t>(n - half + 127) << 23);
}

// e^x for x ≤ 0, cheaper; results below 2^-126 are zero.
UNROLL_FORMULA float exp_of_negative(float x) {
  const Reduced a = reduce_by_ln2(x);
  const float power = (exp_tail(a.r) * a.r + 1.0f) * a.r + 1.0f;
  return x < -87.33654f ? 0.0f : power * power_of_two(a);
}

// log x = n ln 2 + log m,  x = 2^n m,  √½ ≤ m < √2.  Error below 1.2.
UNROLL_FORMULA float log(float x) {
  const bool denormal = x < 0x1p-126f;
  const uint32_t root_half = 0x3f3504f3;
  const uint32_t i = bits_of(denormal ? x * 0x1p23f : x) - root_half;
  const float n = static_cast<float>((static_cast<int32_t>(i) >> 23) - (denormal ? 23 : 0));
  const float f = from_bits((i & 0x7fffff) + root_half) - 1.0f;
  float q = 0.08700448274612427f;
  q = q * f - 0.14267490804195404f;
  q = q * f + 0.1491476446390152f;
  q = q * f - 0.1657758355140686f;
  q = q * f + 0.19963063299655914f;
  q = q * f - 0.2500133812427521f;
  q = q * f + 0.3333390951156616f;
  const float z = f * f;
  const float small = z * f * q - n * 2.12194440e-4f - 0.5f * z;
  const float y = (f + small) + n * 0.693359375f;
  const float edge = x == 0.0f ? -__builtin_inff() : __builtin_nanf("");
  return x > 0.0f ? (x < __builtin_inff() ? y : x) : edge;
}

// tanh |x| = u / (u + 2),  u = e^2|x| - 1 = 2^n (e^r - 1) + (2^n - 1).  Error below 2.7.
UNROLL_FORMULA float tanh(float x) {
  float twice = 2.0f * magnitude(x);
  twice = twice > 30.0f ? 30.0f : twice;  // 1 from there on
  const Reduced a = reduce_by_ln2(twice);
  const float power = power_of_two(a);
  const float u = power * (exp_tail(a.r) * a.r * a.r + a.r) + (power - 1.0f);
  return from_bits(bits_of(u / (u + 2.0f)) | (bits_of(x) & 0x80000000));
}

// σ(x) = 1 / (1 + e^-x), and e^x / (1 + e^x) for negative x; results below 2^-126 are zero.  Error below 2.9.
UNROLL_FORMULA float sigmoid(float x) {
  const float e = exp_of_negative(-magnitude(x));
  const float y = 1.0f / (1.0f + e);
  return x < 0.0f ? e * y : y;
}

// log(1 + x) = 2 artanh s,  s = x / (2 + x), for 0 ≤ x ≤ 1.  Error below 2.
UNROLL_FORMULA float log_of_one_plus(float x) {
  const float s = x / (2.0f + x), z = s * s;
  float q = 0.2801198959350586f;
  q = q * z + 0.28001806139945984f;
  q = q * z + 0.4002152681350708f;
  q = q * z + 0.666664183139801f;
  return s * z * q + 2.0f * s;
}

// erf x = x p(x²) up to 15/16, and 1 - e^q(x) from there on. The polynomials are weighted least squares fits, so that the
// error relative to erf is alike everywhere (Lawson 1961).  Error below 1.5.
UNROLL_FORMULA float erf(float x) {
  const float m = magnitude(x), z = x * x;
  float p = -0.0005943145370110869f;
  p = p * z + 0.004984379280358553f;
  p = p * z - 0.02676110714673996f;
  p = p * z + 0.11281681805849075f;
  p = p * z - 0.3761248290538788f;
  p = p * z + 1.1283791065216064f;
  const float far = m > 4.0f ? 4.0f : m;  // 1 from there on
  float q = 0.00019306503236293793f;
  q = q * far - 0.0030150844249874353f;
  q = q * far + 0.022114964202046394f;
  q = q * far - 0.10369976609945297f;
  q = q * far - 0.637445867061615f;
  q = q * far - 1.1275193691253662f;
  q = q * far - 0.00023341576161328703f;
  const float tail = from_bits(bits_of(1.0f - exp_of_negative(q)) | (bits_of(x) & 0x80000000));
  return m < 0.9375f ? x * p : (x == x ? tail : x);
}

UNROLL_FORMULA float sqrt(float x) { return ::sqrtf(x); }
UNROLL_FORMULA float sin(float x) { return ::sinf(x); }
UNROLL_FORMULA float cos(float x) { return ::cosf(x); }
UNROLL_FORMULA float pow(float x, float y) { return ::powf(x, y); }

UNROLL_FORMULA double magnitude(double x) { return ::fabs(x); }
UNROLL_FORMULA double exp(double x) { return ::exp(x); }
UNROLL_FORMULA double exp_of_negative(double x) { return ::exp(x); }
UNROLL_FORMULA double log(double x) { return ::log(x); }
UNROLL_FORMULA double tanh(double x) { return ::tanh(x); }
UNROLL_FORMULA double sqrt(double x) { return ::sqrt(x); }
UNROLL_FORMULA double erf(double x) { return ::erf(x); }
UNROLL_FORMULA double sin(double x) { return ::sin(x); }
UNROLL_FORMULA double cos(double x) { return ::cos(x); }
UNROLL_FORMULA double pow(double x, double y) { return ::pow(x, y); }
UNROLL_FORMULA double sigmoid(double x) {
  const double e = ::exp(-magnitude(x));
  return (x >= 0.0 ? 1.0 : e) / (1.0 + e);
}
UNROLL_FORMULA double log_of_one_plus(double x) { return ::log1p(x); }

}  // namespace unroll::pointwise::inline UNROLL_ISA
