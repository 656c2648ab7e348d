// Kernels that let elements or rows through and keep others out.
#include "framework/kernels/cpu/launch.h"
#include "framework/random.h"

namespace unroll::cpu::inline UNROLL_ISA {

// The factors of elements first … first + 4·blocks - 1 of a place: 0, or 1 / (1 - rate). `first` is a
// multiple of 4. Philox 4x32-10 as in random.h, side by side for all blocks of four.
constexpr int64_t mask_size = 1024;
static void draw_mask(const RandomKey& key, int64_t first, int64_t blocks, real rate, real* factor) {
  const uint32_t step = key.step, place_low = static_cast<uint32_t>(key.place);
  const uint32_t place_high = static_cast<uint32_t>(key.place >> 32);
  const uint32_t seed_low = static_cast<uint32_t>(key.seed),
                 seed_high = static_cast<uint32_t>(key.seed >> 32);
  const uint32_t first_block = static_cast<uint32_t>(first / 4);
  uint32_t bits[4][mask_size / 4];
  simd(blocks, [&](int64_t i) {
    uint32_t c0 = first_block + static_cast<uint32_t>(i), c1 = step, c2 = place_low, c3 = place_high;
#pragma GCC unroll 10
    for (uint32_t round = 0; round < 10; ++round) {
      const uint64_t p0 = uint64_t{0xD2511F53} * c0, p1 = uint64_t{0xCD9E8D57} * c2;
      c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ (seed_low + round * 0x9E3779B9);
      c1 = static_cast<uint32_t>(p1);
      c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ (seed_high + round * 0xBB67AE85);
      c3 = static_cast<uint32_t>(p0);
    }
    bits[0][i] = c0, bits[1][i] = c1, bits[2][i] = c2, bits[3][i] = c3;
  });
  const real kept = 1 / (1 - rate);
  for (int64_t i = 0; i < blocks; ++i) {
    for (int k = 0; k < 4; ++k) {
      const real uniform = static_cast<real>(static_cast<int32_t>(bits[k][i] >> 8)) * real(0x1p-24);
      factor[4 * i + k] = uniform >= rate ? kept : 0;
    }
  }
}

void dropout(const real* x, real rate, const RandomKey& key, int64_t period, real* y, int64_t n, bool add) {
  const RandomKey* from = &key;
  with_flag(add, [=](auto adds) {
    spread((period + mask_size - 1) / mask_size, n * 4, [=](int64_t k) {
      const int64_t begin = k * mask_size, end = smaller(begin + mask_size, period);
      real factor[mask_size];
      draw_mask(*from, begin, (end - begin + 3) / 4, rate, factor);
      for (int64_t at = begin; at < n; at += period) {
        const int64_t count = smaller(end - begin, n - at);
        simd(count, [&](int64_t i) { put(adds, y[at + i], x[at + i] * factor[i]); });
      }
    });
  });
}

void keep_rows(const real* x, const real* kept, int64_t rows, int64_t cols, real* y, bool add) {
  with_flag(add, [=](auto adds) {
    each_row(rows, cols, 1, [=](int64_t r) {
      const real* from = x + r * cols;
      real* to = y + r * cols;
      if (kept[r] != 0) {
        simd(cols, [&](int64_t i) { put(adds, to[i], from[i]); });
      } else if (!adds) {
        for (int64_t i = 0; i < cols; ++i) to[i] = 0;
      }
    });
  });
}

}  // namespace unroll::cpu::inline UNROLL_ISA
