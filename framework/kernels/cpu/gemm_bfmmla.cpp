// Products of bfloat16 numbers with Arm's BFMMLA, summed in float. Operands are rounded while they are packed.
//
// BFMMLA multiplies two rows of a, four numbers each, by two columns of b, and adds to a block [2, 2] of c. Denormal numbers count as
// 0. Each of its sums is cut to 24 bits, and the last of these is set if anything was lost ("round to odd"): the error is below
// one unit of the last place, where float's own is half of it.
#include <arm_neon.h>

#include "framework/kernels/cpu/gemm_vectors.h"

namespace unroll::cpu {

inline namespace baseline {
const Kernels& table();
}

inline namespace UNROLL_ISA {
namespace {

using Pair = uint32_t;        // two numbers that are neighbours along k, the first in the low half
constexpr int64_t group = 4;  // numbers along k, two pairs: they lie together for each line of a panel

// v[i]: the next four numbers along k of line i; zeros beyond `count` lines and `depth` numbers.
UNROLL_FORMULA void read(const Lines& x, int64_t count, int64_t depth, Vector (&v)[W]) {
  static_assert(W == group);
  if (count >= W && depth >= group) {
    const bool along = x.step == 1;  // else lines are neighbours
    for (int i = 0; i < W; ++i) v[i] = load(x.data + i * (along ? x.line : x.step));
    if (!along) turn(v);
    return;
  }
  real numbers[W][W] = {};
  for (int64_t i = 0; i < smaller(count, W); ++i)
    for (int64_t l = 0; l < smaller(depth, group); ++l) numbers[i][l] = x.data[i * x.line + l * x.step];
  for (int i = 0; i < W; ++i) v[i] = load(numbers[i]);
}

// To the nearest bfloat16, ties to even. Denormal numbers become 0 first, as everywhere here: the instruction would round the largest up.
UNROLL_FORMULA bfloat16x4_t rounded(Vector x) {
  using Bits [[gnu::vector_size(vector_bytes)]] = uint32_t;
  const Bits bits = __builtin_bit_cast(Bits, x);
  const auto is_normal = __builtin_bit_cast(Bits, (bits & 0x7f80'0000) != 0);
  return vcvt_bf16_f32(__builtin_bit_cast(Vector, bits & is_normal));
}

// `count` lines, `height` to a panel [groups, width, 4 numbers].
template <int width>
void pack(const Lines& x, int64_t count, int64_t height, int64_t depth, Pair* out) {
  const int64_t panels = ceil_div(count, height), groups = ceil_div(depth, group);
  const auto pack_group = [&](int64_t panel, int64_t l) {
    Pair* to = out + (panel * groups + l) * width * 2;
    for (int64_t begin = panel * height, i = 0; i < width; i += W, to += W * 2) {
      const int64_t line = begin + i;
      Vector v[W];
      if (line < count)
        read(x.at(line, l * group), count - line, depth - l * group, v);
      else
        for (Vector& zeros : v) zeros = Vector{};
      for (int k = 0; k < W; ++k) {
        const bfloat16x4_t four = rounded(v[k]);
        __builtin_memcpy(to + 2 * k, &four, sizeof four);
      }
    }
  };
  // Along memory.
  if (x.step == 1)
    for (int64_t panel = 0; panel < panels; ++panel)
      for (int64_t l = 0; l < groups; ++l) pack_group(panel, l);
  else
    for (int64_t l = 0; l < groups; ++l)
      for (int64_t panel = 0; panel < panels; ++panel) pack_group(panel, l);
}

// A tile's sums fill 24 of 32 registers. Six hold b, and one holds two rows of a.
struct Blocks2x2 : UsualSizes {
  using Element = Pair;
  static constexpr int64_t MR = 8, AR = 8, NR = 12;
  static constexpr int64_t KC = 768;  // a panel of b: 18 KiB

  static int64_t steps(int64_t depth) { return ceil_div(depth, group) * 2; }
  static int64_t depth(int64_t k) { return ceil_div(even(k, KC), group) * group; }
  static constexpr auto pack_a = pack<AR>, pack_b = pack<NR>;

  explicit Blocks2x2(int64_t) {}
  void multiply(const Tile<Pair>& t) const {
    constexpr void (*of_rows[])(const Tile<Pair>&) = {sum_up<1>, sum_up<2>, sum_up<3>, sum_up<4>};
    of_rows[(t.rows - 1) / 2](t);
  }

 private:
  UNROLL_FORMULA static bfloat16x8_t two_lines(const Pair* p) {
    using Pairs [[gnu::vector_size(16), gnu::aligned(4)]] = Pair;
    return __builtin_bit_cast(bfloat16x8_t, *reinterpret_cast<const Pairs*>(p));
  }

  template <int blocks>  // below one another
  [[gnu::noinline]] static void sum_up(const Tile<Pair>& t) {
    constexpr int across = NR / 2;
    float32x4_t sum[blocks][across] = {};
    const Pair *a = t.a, *b = t.b;
    const int64_t to_next = t.to_next;
    for (int64_t i = 0; i < t.rows; ++i) fetch_row<NR>(t.c + i * t.c_row);
    for (int64_t left = t.steps; left > 0; left -= 2, a += 2 * AR, b += 2 * NR) {
      bfloat16x8_t y[across];
#pragma GCC unroll 8
      for (int j = 0; j < across; ++j) y[j] = two_lines(b + 4 * j);
      if (to_next != 0) __builtin_prefetch(b + to_next, 0, 2), __builtin_prefetch(b + to_next + 16, 0, 2);
#pragma GCC unroll 8
      for (int i = 0; i < blocks; ++i) {
        asm volatile("" ::: "memory");  // gcc 12 would read all rows at once, and has no registers for them
        const bfloat16x8_t x = two_lines(a + 4 * i);
#pragma GCC unroll 8
        for (int j = 0; j < across; ++j) sum[i][j] = vbfmmlaq_f32(sum[i][j], x, y[j]);
      }
    }
    real rows[2 * blocks][NR];
#pragma GCC unroll 8
    for (int i = 0; i < blocks; ++i)
#pragma GCC unroll 8
      for (int j = 0; j < across; ++j) {
        vst1_f32(&rows[2 * i][2 * j], vget_low_f32(sum[i][j]));
        vst1_f32(&rows[2 * i + 1][2 * j], vget_high_f32(sum[i][j]));
      }
    for (int64_t i = 0; i < t.rows; ++i) {
      const real* const from = t.addend.at(i, 0).data;
      real* const c = t.c + i * t.c_row;
      if (t.columns == NR)
        for (int j = 0; j < NR; j += W)
          store(c + j, from ? load(from + j) + load(rows[i] + j) : load(rows[i] + j));
      else
        for (int64_t j = 0; j < t.columns; ++j) c[j] = from ? from[j] + rows[i][j] : rows[i][j];
    }
  }
};

}  // namespace

const Kernels& table() {
  static const Kernels kernels = []() noexcept { return with_bf16<Blocks2x2>(baseline::table()); }();
  return kernels;
}

}  // namespace UNROLL_ISA
}  // namespace unroll::cpu
