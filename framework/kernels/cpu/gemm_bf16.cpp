// Products of bfloat16 numbers with AVX512-BF16, summed in float. Operands are rounded while they are packed.
#include "framework/kernels/cpu/gemm_pairs.h"

namespace unroll::cpu::inline UNROLL_ISA {
namespace {

struct Pairs : UsualSizes {
  using Element = Pair;
  using Numbers = Rounded;
  static constexpr int64_t MR = tile_rows, AR = panel_rows, NR = tile_columns;
  static constexpr int64_t KC = 512;  // a panel of b: 32 KiB

  static int64_t depth(int64_t k) { return whole_groups(even(k, KC)); }
  static int64_t steps(int64_t depth) { return ceil_div(depth, 2); }
  static constexpr auto pack_a = pack_by_steps<Pairs, AR>, pack_b = pack_by_steps<Pairs, NR>;

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

}  // namespace

const Kernels& table() {
  static const Kernels kernels = []() noexcept { return with_bf16<Pairs>(avx512::table()); }();
  return kernels;
}

}  // namespace unroll::cpu::inline UNROLL_ISA
