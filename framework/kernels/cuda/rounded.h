// Copies in 16 bits of what kernels write (RoundedCopy).
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "framework/kernels/cuda/streams.h"
#include "framework/kernels/kernels.h"

namespace unroll::cuda {

UNROLL_KERNEL inline void put_rounded(const RoundedCopy& copy, int64_t at, real x) {
  if (!copy.data) return;
  if (copy.half)
    static_cast<__half*>(copy.data)[at] = __float2half(static_cast<float>(x));
  else
    static_cast<__nv_bfloat16*>(copy.data)[at] = __float2bfloat16(static_cast<float>(x));
}
// The same for `steps` steps.
inline void check_rounded(const RoundedCopy& copy, int64_t n, int64_t steps = 1) {
  given(static_cast<uint16_t*>(copy.data), n, n * steps);
}

// A stream of such a copy: the functor puts the number that is to be rounded.
struct Rounded {
  RoundedCopy copy;
  bool in_pieces() const { return is_aligned(static_cast<const uint16_t*>(copy.data)); }
  template <int width>
  UNROLL_KERNEL Piece<real, width> load(int64_t) const {
    return {};
  }
  template <int width>
  UNROLL_KERNEL void store(int64_t i, const Piece<real, width>& piece) const {
    Piece<uint16_t, width> words;
    UNROLL_ALL
    for (int k = 0; k < width; ++k) {
      const auto number = static_cast<float>(piece.at[k]);
      words.at[k] =
          copy.half ? __half_as_ushort(__float2half(number)) : __bfloat16_as_ushort(__float2bfloat16(number));
    }
    *reinterpret_cast<Piece<uint16_t, width>*>(static_cast<uint16_t*>(copy.data) + i) = words;
  }
};
inline Rounded write_rounded(const RoundedCopy& copy, int64_t n) {
  check_rounded(copy, n);
  return {copy};
}

}  // namespace unroll::cuda
