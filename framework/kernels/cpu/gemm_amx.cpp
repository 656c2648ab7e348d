// Products on AMX's tiles, which multiply bfloat16 numbers and sum in float: of operands rounded to these, and of float
// operands, each number as the sum of three.
#include "framework/kernels/cpu/gemm_pairs.h"

namespace unroll::cpu::inline UNROLL_ISA {

const Kernels& table();

namespace {

// A panel of b is 48 KiB, as much as the first cache. Fewer numbers would stay in it, but c, which is written more slowly than the
// tiles multiply, would then be written twice for 650 or 700 of them.
struct RoundedOnTiles : Rounded {
  static constexpr int64_t KC = 768, worth_a_thread = 1 << 21;
  static constexpr int64_t near = 128 * 1024, a_at_once = near;  // 512 KiB
};

// A float number as the sum of three, high + middle + low: each is the bfloat16 number nearest to the rest, so that
// of 24 bits none is lost. Six of the nine products of two such sums are added. The three others are at most 2⁻²⁵,
// 2⁻²⁵ and 2⁻³⁴ of the whole, and a float sum is rounded by 2⁻²⁴ of it (Henry, Tang and Heinecke 2019, "Leveraging
// the bfloat16 artificial intelligence datatype for higher-precision computations").
//
// Parts below 2⁻¹²⁶ count as 0, so numbers below 2⁻¹⁰³ lose bits. Infinity, and what rounds to it, leaves NaN as the
// rest, so sums with it are NaN.
//
// Pairs are 16 apart along k, so that no number moves within a vector.
struct Split {
  static constexpr int parts = 3;
  static constexpr int64_t low(int64_t step) { return step; }
  static constexpr int64_t high(int64_t step) { return step + 16; }
  // A panel of b is 96 KiB and comes from the second cache, which brings enough: six multiplications for each pair of numbers.
  static constexpr int64_t KC = 512, worth_a_thread = 1 << 19;
  static constexpr int64_t near = 192 * 1024, a_at_once = 32 * 1024;  // 768 and 128 KiB

  template <class Put>
  UNROLL_FORMULA static void across(__m512 x, __m512 y, Put put) {
    using Bits [[gnu::vector_size(64)]] = uint32_t;
    constexpr uint32_t kept = 0xffff'0000, half = 0x8000;
    const auto put_high_halves = [&](int part, Bits u, Bits v) __attribute__((always_inline)) {
      put(part, __builtin_bit_cast(__m512i, u >> 16 | (v & kept)));
    };
    for (int part = 0; part < 2; ++part) {
      const Bits u = __builtin_bit_cast(Bits, x) + half, v = __builtin_bit_cast(Bits, y) + half;
      put_high_halves(part, u, v);
      x -= __builtin_bit_cast(__m512, u & kept);
      y -= __builtin_bit_cast(__m512, v & kept);
    }
    put_high_halves(2, __builtin_bit_cast(Bits, x), __builtin_bit_cast(Bits, y));
  }
  template <class Put>
  UNROLL_FORMULA static void along(__m512 x, __m512 y, Put put) {
    across(x, y, put);
  }
};

// Eight registers of 16 rows of 64 bytes: four hold a tile of c, 32 by 32, two the rows of a, two the columns of b.
template <class N>
struct Tiles : UsualSizes {
  using Element = Pair;
  using Numbers = N;
  static constexpr int64_t MR = 32, AR = 32, NR = 32, parts = Numbers::parts;
  static constexpr int64_t KC = Numbers::KC, worth_a_thread = Numbers::worth_a_thread;
  static constexpr int64_t near = Numbers::near, a_at_once = Numbers::a_at_once;

  static int64_t depth(int64_t k) { return whole_groups(even(k, KC)); }
  static int64_t steps(int64_t depth) { return whole_groups(depth) / 2 * parts; }
  static constexpr auto pack_b = pack_by_steps<Tiles, NR>;
  // For each group and part a block [rows, 16 pairs], as the registers take it.
  static void pack_a(const Lines& x, int64_t count, int64_t height, int64_t depth, Pair* out) {
    each_group<Tiles, AR>(x, count, height, depth, out, [&](int64_t begin, int64_t l, Pair* to) {
      for (int64_t beside = 0; beside < height; beside += 16)
        read<Numbers, true>(x, begin + beside, count, l, depth, [&](int part, int64_t line, __m512i pairs) {
          store(to + (part * AR + beside + line) * group_steps, pairs);
        });
    });
  }

  explicit Tiles(int64_t rows)
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
  ~Tiles() { _tile_release(); }
  Tiles& operator=(Tiles&&) = delete;

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
    const auto load_upper = [&](int64_t part) __attribute__((always_inline)) {
      _tile_loadd(4, a + part * AR * group_steps, 64);
    };
    const auto load_lower = [&](int64_t part) __attribute__((always_inline)) {
      _tile_loadd(5, a + (part * AR + upper) * group_steps, 64);
    };
    const auto load_left = [&](int64_t part) __attribute__((always_inline)) {
      _tile_loadd(6, b + part * group_steps * NR, 128);
    };
    const auto load_right = [&](int64_t part) __attribute__((always_inline)) {
      _tile_loadd(7, b + part * group_steps * NR + 16, 128);
    };
    const auto add_upper = []() __attribute__((always_inline)) {
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 4, 7);
    };
    const auto add_lower = []() __attribute__((always_inline)) {
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    };
    const auto add_left = []() __attribute__((always_inline)) {
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(2, 5, 6);
    };
    const auto add_right = []() __attribute__((always_inline)) {
      _tile_dpbf16ps(1, 4, 7);
      _tile_dpbf16ps(3, 5, 7);
    };
    // Fetches a twelfth of the next group, of a's lines and b's, into the first cache. If another thread shares the
    // core, a load from the second cache holds up what follows it: measured, a product took a third longer.
    const Pair *next_a, *next_b;
    const auto fetch = [&](int64_t twelfth) __attribute__((always_inline)) {
      constexpr int64_t lines = parts * AR * group_steps / 16 / 12;
#pragma GCC unroll 8
      for (int64_t line = twelfth * lines; line < (twelfth + 1) * lines; ++line)
        __builtin_prefetch(next_a + line * 16), __builtin_prefetch(next_b + line * 16);
    };
    // Lines of c come while the sums form, some for each group: to wait for them at the end took as long as the sums.
    const int64_t some = ceil_div(MR, t.steps / (parts * group_steps));
    const real *line = c, *const last = c + t.rows * c_row;
    alignas(64) Pair unused[16 * group_steps];
    int until_store = 4;
    for (; b < end; a += parts * AR * group_steps, b += parts * group_steps * NR) {
      for (int64_t row = 0; row < some && line < last; ++row, line += c_row) fetch_row<NR>(line);
      if (t.to_next != 0)
        for (int64_t step = 0; step < parts * group_steps; ++step)
          __builtin_prefetch(b + t.to_next + step * NR, 0, 2);  // into the second cache
      next_a = a + parts * AR * group_steps;
      next_b = b + parts * group_steps * NR < end ? b + parts * group_steps * NR : t.b;  // of the tile below
      load_upper(0), load_left(0), load_right(0);
      if constexpr (parts == 1) {
        add_upper();
        if (lower > 0) load_lower(0), add_lower();
      } else {
        // All products of two parts but the three that are too small for a float sum. A register is loaded as soon as it is free.
        load_lower(0);
        add_left(), load_left(1), fetch(0), add_right(), load_right(1), fetch(1);    // high · high
        add_upper(), load_upper(1), fetch(2), add_lower(), load_lower(1), fetch(3);  // high · middle
        add_left(), load_left(0), fetch(4), add_right(), load_right(0), fetch(5);    // middle · middle
        add_upper(), load_upper(2), fetch(6), add_lower(), load_lower(2), fetch(7);  // middle · high
        add_upper(), load_upper(0), fetch(8), add_lower(), load_lower(0), fetch(9);  // low · high
        load_left(2), load_right(2), add_left(), fetch(10), add_right(), fetch(11);  // high · low
        // A store after more than some 130 multiplications without one stalls the core as long as 64 of them take: measured,
        // and nowhere explained. So there is one before that, of what nobody reads.
        if (--until_store == 0) {
          _tile_stored(4, unused, 64);
          until_store = 4;
        }
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

// Small products are AVX-512's, since packing three parts of each number would take longer than it saves.
void gemm(const Operand& a, const Operand& b, int64_t m, int64_t n, int64_t k, real* c, int64_t c_row,
          const Addend& addend, void* scratch, int threads) {
  const Kernels& here = table();
  const bool is_large = !b.packed && m >= 64 && n >= 32 && k >= 32;
  const Products& best = is_large ? here.split_fp32 : avx512::table().fp32;
  best.gemm(a, b, m, n, k, c, c_row, addend, scratch, threads);
}

}  // namespace

const Kernels& table() {
  static const Kernels kernels = []() noexcept {
    Kernels k = with_bf16<Tiles<RoundedOnTiles>>(avx512::table());
    k.split_fp32 = products_of<Tiles<Split>>();
    k.fp32.gemm = gemm;
    if (k.fp32.scratch_bytes < k.split_fp32.scratch_bytes) k.fp32.scratch_bytes = k.split_fp32.scratch_bytes;
    return k;
  }();
  return kernels;
}

}  // namespace unroll::cpu::inline UNROLL_ISA
