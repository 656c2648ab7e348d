// Stand-ins for the instructions of AMX and AVX512-BF16 that gemm_bf16.cpp and gemm_amx.cpp call, so that it is tested on processors with
// AVX-512 alone: included before it on the compiler's command line. As in Intel's manual, and stricter: a register is used
// with the sizes that it was configured for, they fit one another, and all are released in the end, or the process ends.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include <immintrin.h>

namespace bf16_instructions {

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "stand-in for bfloat16 instructions: %s\n", what);
  std::abort();
}

// Denormal numbers count as 0, read and written.
inline float flushed(float x) {
  return std::abs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
}
inline float number(uint32_t pair, int which) {
  return flushed(std::bit_cast<float>(which == 0 ? pair << 16 : pair & 0xffff'0000));
}
// sum + the product of two pairs, one after the other
inline float dot(float sum, uint32_t a, uint32_t b) {
  sum = flushed(sum + flushed(number(a, 0) * number(b, 0)));
  return flushed(sum + flushed(number(a, 1) * number(b, 1)));
}
inline uint16_t nearest(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(flushed(x));
  if (std::isnan(x)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline __m512i convert(__m512 high, __m512 low) {
  float from[32];
  uint16_t to[32];
  _mm512_storeu_ps(from, low);
  _mm512_storeu_ps(from + 16, high);
  for (int i = 0; i < 32; ++i) to[i] = nearest(from[i]);
  return _mm512_loadu_si512(to);
}
template <class Pairs>
__m512 dot_of_vectors(__m512 sum, Pairs a, Pairs b) {
  const auto as = std::bit_cast<std::array<uint32_t, 16>>(a), bs = std::bit_cast<std::array<uint32_t, 16>>(b);
  auto sums = std::bit_cast<std::array<float, 16>>(sum);
  for (size_t i = 0; i < 16; ++i) sums[i] = dot(sums[i], as[i], bs[i]);
  return std::bit_cast<__m512>(sums);
}

// --- tiles -------------------------------------------------------------------------------------------------------

struct Configuration {
  uint8_t palette = 0, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};
struct Registers {
  ~Registers() { require(configuration.palette == 0, "a thread ends with tiles"); }
  Configuration configuration;
  uint32_t data[8][16][16];
};
inline thread_local Registers registers;

inline void configure(const void* p) {
  Configuration& c = registers.configuration;
  std::memcpy(&c, p, sizeof c);
  require(c.palette == 1 && c.start_row == 0, "palette 1, from row 0");
  for (int t = 0; t < 8; ++t)
    require(c.rows[t] >= 1 && c.rows[t] <= 16 && c.row_bytes[t] >= 4 && c.row_bytes[t] <= 64 &&
                c.row_bytes[t] % 4 == 0,
            "a register of 1 to 16 rows of 4 to 64 bytes");
  for (int t = 8; t < 16; ++t) require(c.rows[t] == 0 && c.row_bytes[t] == 0, "there are 8 registers");
  std::memset(registers.data, 0xff, sizeof registers.data);  // NaN
}
inline void release() { registers.configuration = {}; }

// Rows of register t, and numbers in each.
struct Size {
  explicit Size(int t)
      : rows(registers.configuration.rows[t]), columns(registers.configuration.row_bytes[t] / 4) {
    require(registers.configuration.palette == 1, "a tile that was not configured");
  }
  int rows, columns;
};
inline void zero(int t) {
  (void)Size(t);
  std::memset(registers.data[t], 0, sizeof registers.data[t]);
}
inline void load(int t, const void* from, int64_t stride) {
  const Size size(t);
  zero(t);
  for (int i = 0; i < size.rows; ++i)
    std::memcpy(registers.data[t][i], static_cast<const char*>(from) + i * stride,
                static_cast<size_t>(size.columns) * 4);
}
inline void store(int t, void* to, int64_t stride) {
  const Size size(t);
  for (int i = 0; i < size.rows; ++i)
    std::memcpy(static_cast<char*>(to) + i * stride, registers.data[t][i],
                static_cast<size_t>(size.columns) * 4);
}
inline void multiply(int c, int a, int b) {
  const Size sums(c), left(a), right(b);
  require(left.rows == sums.rows && right.columns == sums.columns && right.rows == left.columns,
          "tiles that do not fit");
  auto& data = registers.data;
  for (int i = 0; i < sums.rows; ++i)
    for (int k = 0; k < left.columns; ++k)
      for (int j = 0; j < 16; ++j)  // beyond the columns there are zeros
        data[c][i][j] =
            std::bit_cast<uint32_t>(dot(std::bit_cast<float>(data[c][i][j]), data[a][i][k], data[b][k][j]));
}

}  // namespace bf16_instructions

#define _mm512_cvtne2ps_pbh(high, low) bf16_instructions::convert(high, low)
#define _mm512_dpbf16_ps(sum, a, b) bf16_instructions::dot_of_vectors(sum, a, b)
#undef _tile_loadconfig
#undef _tile_release
#undef _tile_zero
#undef _tile_loadd
#undef _tile_stored
#undef _tile_dpbf16ps
#define _tile_loadconfig(p) bf16_instructions::configure(p)
#define _tile_release() bf16_instructions::release()
#define _tile_zero(t) bf16_instructions::zero(t)
#define _tile_loadd(t, from, stride) bf16_instructions::load(t, from, stride)
#define _tile_stored(t, to, stride) bf16_instructions::store(t, to, stride)
#define _tile_dpbf16ps(c, a, b) bf16_instructions::multiply(c, a, b)
