// Products of small matrices by a warp's tensor cores, and numbers as these take them: mma.sync of the PTX ISA, for compute
// capability 8.0 and later. Sums are in float.
//
// D [16, 8] = C + A [16, k] B [k, 8], k = 16 for numbers of 16 bits and 8 for TF32. The lanes of a warp share the matrices out, in
// words of 32 bits, of one number in TF32 and of two neighbours in k, the first in the low half. With g = lane / 4, q = lane % 4,
// and v = 2 numbers in a word, or 1:
//   A   word r in 0 … 3 is row g + 8·(r % 2), k from v·(q + 4·(r / 2)) on
//   B   word r in 0, 1 is column g, k from v·(q + 4·r) on
//   C, D number r in 0 … 3 is row g + 8·(r / 2), column 2q + r % 2
// So A's rows and B's columns are read alike: each lane has words of one line, in k.
//
// The order of k within a sum is free, as long as both factors have the same. So two products, k-steps, go together
// as a chunk of 16 words of each line. Lane q has the four words from 4q on, 16 bytes of memory; the first two are
// the first product's.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "framework/kernels/cuda/language.h"

namespace unroll::cuda {

inline constexpr int chunk_words = 16, warp_lanes = 32;

struct Bf16Words {
  using Number = __nv_bfloat16;
  static constexpr int of_word = 2;
  UNROLL_KERNEL static Number rounded(float x) { return __float2bfloat16(x); }
};
struct Fp16Words {
  using Number = __half;
  static constexpr int of_word = 2;
  UNROLL_KERNEL static Number rounded(float x) { return __float2half(x); }
};
struct Tf32Words {
  using Number = float;
  static constexpr int of_word = 1;
  UNROLL_KERNEL static Number rounded(float x);
};
template <class W>
inline constexpr int chunk_numbers = chunk_words* W::of_word;

#ifdef __CUDACC__

UNROLL_KERNEL inline float Tf32Words::rounded(float x) {
#if __CUDA_ARCH__ >= 800
  uint32_t bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return __uint_as_float(bits);
#else
  return x;
#endif
}

// d += A B, by all lanes of a warp together.
template <class W>
UNROLL_KERNEL inline void multiply_add(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
#if __CUDA_ARCH__ >= 800
#define UNROLL_MMA(shape, type)                                              \
  asm("mma.sync.aligned." shape ".row.col.f32." type "." type                \
      ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                       \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
  if constexpr (std::is_same_v<W, Bf16Words>)
    UNROLL_MMA("m16n8k16", "bf16");
  else if constexpr (std::is_same_v<W, Fp16Words>)
    UNROLL_MMA("m16n8k16", "f16");
  else
    UNROLL_MMA("m16n8k8", "tf32");
#undef UNROLL_MMA
#else
  __trap();  // such a GPU is given the loop
#endif
}

#else

// To the nearest number of 11 bits, away from zero between two, as cvt.rna does it.
inline float Tf32Words::rounded(float x) {
  uint32_t bits = __builtin_bit_cast(uint32_t, x);
  if ((bits & 0x7f80'0000) != 0x7f80'0000) bits = (bits + 0x1000) & 0xffff'e000;
  return __builtin_bit_cast(float, bits);
}

// The lanes tell each other their words, and each sums its own numbers of D.
template <class W>
void multiply_add(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  struct Words {
    uint32_t a[4], b[2];
  };
  const Words mine{{a[0], a[1], a[2], a[3]}, {b[0], b[1]}};
  const Words* const all = static_cast<const Words*>(exchange_in_warp(&mine, sizeof mine));
  const auto number = [](uint32_t word, int k) -> float {
    if constexpr (W::of_word == 1)
      return __builtin_bit_cast(float, word & 0xffff'e000);  // all that the cores read
    const auto half = static_cast<uint16_t>(k % 2 ? word >> 16 : word);
    if constexpr (std::is_same_v<W, Bf16Words>) return __builtin_bit_cast(float, uint32_t{half} << 16);
    return __half2float(__ushort_as_half(half));
  };
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
  for (int r = 0; r < 4; ++r) {
    const int row = lane / 4 + 8 * (r / 2), col = 2 * (lane % 4) + r % 2;
    for (int k = 0; k < 8 * W::of_word; ++k) {
      const int word = k / W::of_word;
      const uint32_t of_a = all[row % 8 * 4 + word % 4].a[row / 8 + 2 * (word / 4)];
      d[r] += number(of_a, k) * number(all[col * 4 + word % 4].b[word / 4], k);
    }
  }
}

#endif

// A lane's words of a chunk of A, rows g and g + 8, in the order in which its two products take them.
struct ChunkWords {
  uint4 first, second;
  UNROLL_KERNEL static ChunkWords of(const uint4& upper, const uint4& lower) {
    return {{upper.x, lower.x, upper.y, lower.y}, {upper.z, lower.z, upper.w, lower.w}};
  }
};
// Both products of a chunk with `columns` times 8 columns of B, of which the lane has 16 bytes of column g of each eight. A product
// waits for the one whose sums it goes on with, so all first ones come before the second.
template <class W, int columns>
UNROLL_KERNEL inline void multiply_add_chunk(float (&d)[columns][4], const ChunkWords& a,
                                             const uint4 (&column)[columns]) {
  UNROLL_ALL
  for (int n = 0; n < columns; ++n)
    multiply_add<W>(d[n], {a.first.x, a.first.y, a.first.z, a.first.w}, {column[n].x, column[n].y});
  UNROLL_ALL
  for (int n = 0; n < columns; ++n)
    multiply_add<W>(d[n], {a.second.x, a.second.y, a.second.z, a.second.w}, {column[n].z, column[n].w});
}

}  // namespace unroll::cuda
