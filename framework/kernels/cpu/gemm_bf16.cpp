// Products of bfloat16 numbers, summed in float: on AMX's tiles, or with AVX512-BF16 where there are none.
// Operands are rounded to the nearest bfloat16, ties to even, while they are packed. The instruction sets
// that have this file are AVX-512's in everything else.
#include <immintrin.h>

#include "framework/kernels/cpu/gemm_vectors.h"

namespace unroll::inline UNROLL_REAL::cpu {

inline namespace avx512 {
const Kernels& table();
}

inline namespace UNROLL_ISA {
namespace {

using Pair = uint32_t;  // two numbers that are neighbours along k, the first in the low half

// Numbers are packed 32 along k at once. AMX's tiles take as many at once, too: for them panels are filled up with zeros.
constexpr int64_t group = 32, group_steps = 16;
constexpr int64_t whole_groups(int64_t depth) { return ceil_div(depth, group) * group; }
#ifdef __AMX_BF16__
constexpr int64_t steps_of(int64_t depth) { return whole_groups(depth) / 2; }
#else
constexpr int64_t steps_of(int64_t depth) { return ceil_div(depth, 2); }
#endif

UNROLL_FORMULA __mmask16 first(int64_t count) {
  return static_cast<__mmask16>(count >= 16 ? 0xffff : count <= 0 ? 0 : (1 << count) - 1);
}
UNROLL_FORMULA __m512i rounded(__m512 low, __m512 high) {
  return __builtin_bit_cast(__m512i, _mm512_cvtne2ps_pbh(high, low));
}
UNROLL_FORMULA void store(Pair* p, __m512i v) { _mm512_storeu_si512(p, v); }

// 16 pairs of line i, where k is the fast dimension; `left` numbers are left of it.
UNROLL_FORMULA __m512i along(const Lines& x, int64_t i, int64_t l, int64_t left) {
  const real* p = x.data + i * x.line + l;
  return rounded(_mm512_maskz_loadu_ps(first(left), p), _mm512_maskz_loadu_ps(first(left - 16), p + 16));
}
// The pairs of `count` lines from line i on, where k is the slow dimension.
UNROLL_FORMULA __m512i across(const Lines& x, int64_t i, int64_t count, int64_t l, int64_t left) {
  const real* p = x.data + i + l * x.step;
  const __m512i v = rounded(_mm512_maskz_loadu_ps(left > 0 ? first(count) : __mmask16{0}, p),
                            _mm512_maskz_loadu_ps(left > 1 ? first(count) : __mmask16{0}, p + x.step));
  using Numbers [[gnu::vector_size(64)]] = uint16_t;
  const auto n = __builtin_bit_cast(Numbers, v);
  return __builtin_bit_cast(
      __m512i, __builtin_shufflevector(n, n, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 9,
                                       25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31));
}

// The pairs of lines i … i+15 over a group: by lines, v[line][step], or by steps, v[step][line].
template <bool by_lines>
UNROLL_FORMULA void read(const Lines& x, int64_t i, int64_t count, int64_t l, int64_t depth,
                         __m512i (&v)[16]) {
  const bool lies_by_lines = x.step == 1;
  if (lies_by_lines) {
    for (int64_t line = 0; line < 16; ++line)
      v[line] = i + line < count ? along(x, i + line, l, depth - l) : _mm512_setzero_si512();
  } else {
    for (int64_t step = 0; step < 16; ++step)
      v[step] = across(x, i, count - i, l + 2 * step, depth - l - 2 * step);
  }
  if (lies_by_lines == by_lines) return;
  Vector turned[W];
  for (int k = 0; k < W; ++k) turned[k] = __builtin_bit_cast(Vector, v[k]);
  turn(turned);
  for (int k = 0; k < W; ++k) v[k] = __builtin_bit_cast(__m512i, turned[k]);
}

// Calls pack_group(begin, l, out) for the panels of a block and the groups of each: along k where memory
// runs, else a group for all panels first.
template <int width, class PackGroup>
void each_group(const Lines& x, int64_t count, int64_t height, int64_t depth, Pair* out,
                PackGroup pack_group) {
  const int64_t panel = width * steps_of(depth);
  if (x.step == 1) {
    for (int64_t begin = 0; begin < count; begin += height, out += panel)
      for (int64_t l = 0; l < depth; l += group) pack_group(begin, l, out + l / 2 * width);
  } else {
    for (int64_t l = 0; l < depth; l += group)
      for (int64_t begin = 0; begin < count; begin += height)
        pack_group(begin, l, out + begin / height * panel + l / 2 * width);
  }
}

// `count` lines, `height` to a panel [steps, width].
template <int width>
void pack_by_steps(const Lines& x, int64_t count, int64_t height, int64_t depth, Pair* out) {
  each_group<width>(x, count, height, depth, out, [&](int64_t begin, int64_t l, Pair* to) {
    const int64_t steps = smaller(group_steps, steps_of(depth) - l / 2);
    for (int64_t part = 0; part < width; part += 16) {
      __m512i v[16];
      read<false>(x, begin + part, count, l, depth, v);
      for (int64_t step = 0; step < steps; ++step) store(to + step * width + part, v[step]);
    }
  });
}

#ifdef __AMX_BF16__

// Eight registers of 16 rows of 64 bytes: four hold a tile of c, 32 by 32, two the rows of a, two the columns
// of b.
struct Pairs {
  using Element = Pair;
  static constexpr int64_t MR = 32, AR = 32, NR = 32;
  // A panel of b: 48 KiB, as much as the first cache. Fewer numbers would stay in it, but c, which is written more slowly than
  // the tiles multiply, would then be written twice for 650 or 700 of them.
  static constexpr int64_t KC = 768;
  static constexpr int64_t worth_a_thread = 1 << 21;
  static constexpr int64_t near = 128 * 1024, few = 256 * 1024, most = 576 * 1024;  // 512 KiB, 1 and 2.25 MiB
  static constexpr int64_t second_sums = 544 * 1024;

  static int64_t depth(int64_t k) { return whole_groups(even(k, KC)); }
  static int64_t steps(int64_t depth) { return steps_of(depth); }
  static constexpr auto pack_b = pack_by_steps<NR>;
  // For each group a block [rows, 16 pairs], as the registers take it.
  static void pack_a(const Lines& x, int64_t count, int64_t height, int64_t depth, Pair* out) {
    each_group<AR>(x, count, height, depth, out, [&](int64_t begin, int64_t l, Pair* to) {
      for (int64_t part = 0; part < height; part += 16) {
        __m512i v[16];
        read<true>(x, begin + part, count, l, depth, v);
        for (int64_t line = 0; line < 16; ++line) store(to + (part + line) * group_steps, v[line]);
      }
    });
  }

  explicit Pairs(int64_t rows)
      : upper(static_cast<int>((rows + 1) / 2)), lower(static_cast<int>(rows) - upper) {
    struct alignas(64) {
      uint8_t palette = 1, start_row = 0, reserved[14] = {};
      uint16_t row_bytes[16] = {};
      uint8_t rows[16] = {};
    } configuration;
    const int rows_of[8] = {upper, upper, lower, lower, upper, lower, 16, 16};
    for (int k = 0; k < 8; ++k) {
      configuration.rows[k] = static_cast<uint8_t>(rows_of[k] == 0 ? 1 : rows_of[k]);
      configuration.row_bytes[k] = 64;
    }
    asm volatile("" ::: "memory");
    _tile_loadconfig(&configuration);
  }
  ~Pairs() { _tile_release(); }
  Pairs(const Pairs&) = delete;
  Pairs& operator=(const Pairs&) = delete;

  void multiply(const Tile<Pair>& t) const {
    const bool whole = t.rows == upper + lower && t.columns == NR;
    alignas(64) real edge[MR * NR];
    if (!whole)
      for (int64_t i = 0; i < MR; ++i)
        for (int64_t j = 0; j < NR; ++j)
          edge[i * NR + j] = t.addend.data && i < t.rows && j < t.columns ? *t.addend.at(i, j).data : 0;
    real* const c = whole ? t.c : edge;
    const int64_t c_row = whole ? t.c_row : NR, c_bytes = c_row * static_cast<int64_t>(sizeof(real));
    const Addend from = whole || !t.addend.data ? t.addend : Addend{edge, NR};
    const int64_t from_bytes = from.row * static_cast<int64_t>(sizeof(real));
    const Pair *a = t.a, *b = t.b;
    const Pair* const end = b + t.steps * NR;
    asm volatile("" ::: "memory");  // gcc's intrinsics do not say that they read memory
    if (from.data) {
      _tile_loadd(0, from.data, from_bytes);
      _tile_loadd(1, from.data + 16, from_bytes);
      if (lower > 0) {
        _tile_loadd(2, from.at(upper, 0).data, from_bytes);
        _tile_loadd(3, from.at(upper, 16).data, from_bytes);
      }
    } else {
      _tile_zero(0);
      _tile_zero(1);
      _tile_zero(2);
      _tile_zero(3);
    }
    // Lines of c come while the sums form, some for each group: to wait for them at the end took as long as the sums.
    const int64_t some = ceil_div(MR, t.steps / group_steps);
    const real *line = c, *const last = c + t.rows * c_row;
    for (; b < end; a += AR * group_steps, b += group_steps * NR) {
      for (int64_t row = 0; row < some && line < last; ++row, line += c_row) fetch_row<NR>(line);
      if (t.to_next != 0)
        for (int64_t step = 0; step < group_steps; ++step)
          __builtin_prefetch(b + t.to_next + step * NR, 0, 2);  // into the second cache
      _tile_loadd(4, a, 64);
      _tile_loadd(6, b, 128);
      _tile_loadd(7, b + 16, 128);
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 4, 7);
      if (lower > 0) {
        _tile_loadd(5, a + upper * group_steps, 64);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
      }
    }
    _tile_stored(0, c, c_bytes);
    _tile_stored(1, c + 16, c_bytes);
    if (lower > 0) {
      _tile_stored(2, c + upper * c_row, c_bytes);
      _tile_stored(3, c + upper * c_row + 16, c_bytes);
    }
    asm volatile("" ::: "memory");
    if (!whole)
      for (int64_t i = 0; i < t.rows; ++i)
        for (int64_t j = 0; j < t.columns; ++j) t.c[i * t.c_row + j] = edge[i * NR + j];
  }

  int upper, lower;  // rows of a tile in the first and the second register of a
};

#else

struct Pairs {
  using Element = Pair;
  static constexpr int64_t MR = tile_rows, AR = panel_rows, NR = tile_columns;
  static constexpr int64_t KC = 512;  // a panel of b: 32 KiB
  static constexpr int64_t worth_a_thread = 1 << 19;
  static constexpr int64_t near = 96 * 1024, few = 256 * 1024, most = 576 * 1024;  // 384 KiB, 1 and 2.25 MiB
  static constexpr int64_t second_sums = 544 * 1024;

  static int64_t depth(int64_t k) { return whole_groups(even(k, KC)); }
  static int64_t steps(int64_t depth) { return steps_of(depth); }
  static constexpr auto pack_a = pack_by_steps<AR>, pack_b = pack_by_steps<NR>;

  UNROLL_FORMULA static Vector load(const Pair* b) {
    return __builtin_bit_cast(Vector, _mm512_load_si512(b));
  }
  UNROLL_FORMULA static void accumulate(Vector& sum, Pair a, Vector b) {
    const auto pairs = __builtin_bit_cast(__m512bh, _mm512_set1_epi32(static_cast<int>(a)));
    sum = _mm512_dpbf16_ps(sum, pairs, __builtin_bit_cast(__m512bh, b));
  }

  explicit Pairs(int64_t) {}
  void multiply(const Tile<Pair>& t) const { multiply_rows<Pairs>(t); }
};

#endif

}  // namespace

#define UNROLL_TEXT(name) #name
#define UNROLL_NAME(name) UNROLL_TEXT(name)

const Kernels& table() {
  static const Kernels kernels = []() noexcept {
    Kernels k = avx512::table();
    k.name = UNROLL_NAME(UNROLL_ISA);
    k.bf16 = products_of<Pairs>();
    return k;
  }();
  return kernels;
}

}  // namespace UNROLL_ISA
}  // namespace unroll::inline UNROLL_REAL::cpu
