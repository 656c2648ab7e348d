// Operands of products in bfloat16, packed: two numbers to an element, a panel of a or b in the layout that it is read in.
//
// The parameter Numbers says what becomes of float numbers on their way:
//   parts            bfloat16 numbers for each float number
//   low, high(step)  which numbers of a group of 32 along k make a pair
//   along(x, y, put), across(x, y, put)
//                    pairs of 16 numbers x and the next 16, y, of one line, or of x and y of 16 lines: put(part, pairs)
#pragma once

#include <immintrin.h>

#include "framework/kernels/cpu/gemm_vectors.h"

namespace unroll::cpu {

inline namespace avx512 {
const Kernels& table();
}

inline namespace UNROLL_ISA {

using Pair = uint32_t;  // the first number in the low half

// Numbers are packed 32 along k at once.
constexpr int64_t group = 32, group_steps = 16;
constexpr int64_t whole_groups(int64_t depth) { return ceil_div(depth, group) * group; }

// To the nearest bfloat16, ties to even. Pairs are neighbours.
struct Rounded {
  static constexpr int parts = 1;
  static constexpr int64_t low(int64_t step) { return 2 * step; }
  static constexpr int64_t high(int64_t step) { return 2 * step + 1; }

  template <class Put>
  UNROLL_FORMULA static void along(__m512 x, __m512 y, Put put) {
    put(0, __builtin_bit_cast(__m512i, _mm512_cvtne2ps_pbh(y, x)));
  }
  template <class Put>
  UNROLL_FORMULA static void across(__m512 x, __m512 y, Put put) {
    using Halves [[gnu::vector_size(64)]] = uint16_t;
    const auto n = __builtin_bit_cast(Halves, _mm512_cvtne2ps_pbh(y, x));
    put(0, __builtin_bit_cast(__m512i, __builtin_shufflevector(n, n, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21,
                                                               6, 22, 7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12,
                                                               28, 13, 29, 14, 30, 15, 31)));
  }
};

UNROLL_FORMULA __mmask16 first(int64_t count) {
  return static_cast<__mmask16>(count >= 16 ? 0xffff : count <= 0 ? 0 : (1 << count) - 1);
}
UNROLL_FORMULA void store(Pair* p, __m512i v) { _mm512_storeu_si512(p, v); }

// put(part, i, pairs) for the pairs of 16 lines over a group, as the numbers lie: of line i, all its steps, or of step i, all lines.
// `whole`: there are so many lines and numbers.
template <class Numbers, bool by_lines, bool whole, class Put>
UNROLL_FORMULA void read_as_it_lies(const Lines& x, int64_t i, int64_t count, int64_t l, int64_t depth,
                                    Put put) {
  const auto load = [](int64_t left, const real* p) __attribute__((always_inline)) {
    return whole ? _mm512_loadu_ps(p) : _mm512_maskz_loadu_ps(first(left), p);
  };
#pragma GCC unroll 16
  for (int64_t k = 0; k < 16; ++k) {
    const auto put_k = [&](int part, __m512i pairs) __attribute__((always_inline)) { put(part, k, pairs); };
    if constexpr (by_lines) {
      const real* p = x.data + (i + k) * x.line + l;
      const int64_t left = i + k < count ? depth - l : 0;
      __builtin_prefetch(p + 2 * group), __builtin_prefetch(p + 2 * group + 16);
      Numbers::along(load(left, p), load(left - 16, p + 16), put_k);
    } else {
      const auto lines = [&](int64_t number) __attribute__((always_inline)) {
        const real* p = x.data + i + (l + number) * x.step;
        __builtin_prefetch(p + group * x.step);
        return load(l + number < depth ? count - i : 0, p);
      };
      Numbers::across(lines(Numbers::low(k)), lines(Numbers::high(k)), put_k);
    }
  }
}

// put(part, i, pairs) for the pairs of lines i … i+15 over a group: of a line, or, not by_lines, of a step.
template <class Numbers, bool by_lines, class Put>
UNROLL_FORMULA void read(const Lines& x, int64_t i, int64_t count, int64_t l, int64_t depth, Put put) {
  const auto as_it_lies = [&]<bool lies_by_lines>(Flag<lies_by_lines>, auto to)
      __attribute__((always_inline)) {
    if (i + 16 <= count && l + group <= depth)
      read_as_it_lies<Numbers, lies_by_lines, true>(x, i, count, l, depth, to);
    else
      read_as_it_lies<Numbers, lies_by_lines, false>(x, i, count, l, depth, to);
  };
  if ((x.step == 1) == by_lines) return as_it_lies(Flag<by_lines>{}, put);
  Vector v[Numbers::parts][W];
  as_it_lies(
      Flag<!by_lines>{}, [&](int part, int64_t k, __m512i pairs) __attribute__((always_inline)) {
        v[part][k] = __builtin_bit_cast(Vector, pairs);
      });
  for (int part = 0; part < Numbers::parts; ++part) {
    turn(v[part]);
#pragma GCC unroll 16
    for (int k = 0; k < W; ++k) put(part, k, __builtin_bit_cast(__m512i, v[part][k]));
  }
}

// Calls pack_group(begin, l, out) for the panels of a block and the groups of each: along k where memory
// runs, else a group for all panels first.
template <class P, int width, class PackGroup>
void each_group(const Lines& x, int64_t count, int64_t height, int64_t depth, Pair* out,
                PackGroup pack_group) {
  constexpr int64_t parts = P::Numbers::parts;
  const int64_t panel = width * P::steps(depth);
  if (x.step == 1) {
    for (int64_t begin = 0; begin < count; begin += height, out += panel)
      for (int64_t l = 0; l < depth; l += group) pack_group(begin, l, out + l / 2 * parts * width);
  } else {
    for (int64_t l = 0; l < depth; l += group)
      for (int64_t begin = 0; begin < count; begin += height)
        pack_group(begin, l, out + begin / height * panel + l / 2 * parts * width);
  }
}

// `count` lines, `height` to a panel [groups, parts, steps, width].
template <class P, int width>
void pack_by_steps(const Lines& x, int64_t count, int64_t height, int64_t depth, Pair* out) {
  using Numbers = typename P::Numbers;
  each_group<P, width>(x, count, height, depth, out, [&](int64_t begin, int64_t l, Pair* to) {
    const int64_t steps = smaller(group_steps, P::steps(depth) / Numbers::parts - l / 2);
    for (int64_t beside = 0; beside < width; beside += 16)
      read<Numbers, false>(x, begin + beside, count, l, depth, [&](int part, int64_t step, __m512i pairs) {
        if (step < steps) store(to + (part * group_steps + step) * width + beside, pairs);
      });
  });
}

}  // namespace UNROLL_ISA
}  // namespace unroll::cpu
