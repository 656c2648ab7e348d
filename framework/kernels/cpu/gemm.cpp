// Products in float, and with their instructions those of operands rounded to bfloat16.
#include "framework/kernels/cpu/gemm_vectors.h"

namespace unroll::cpu::inline UNROLL_ISA {
namespace {

// Packs `count` lines, `height` to a panel [k, width]. Numbers beside them in a panel do not matter, but none is denormal.
template <int width>
void pack(const Lines& x, int64_t count, int64_t height, int64_t k, real* out) {
  if (x.step == 1 && k >= W) {
    for (int64_t begin = 0; begin < count; begin += height, out += width * k)
      for (int part = 0; part < width; part += W)
        for (int64_t next = 0; next < k; next += W) {
          const int64_t l = smaller(next, k - W);
          Vector v[W];
#pragma GCC unroll 16
          for (int i = 0; i < W; ++i) v[i] = load(x.data + smaller(begin + part + i, count - 1) * x.line + l);
          turn(v);
#pragma GCC unroll 16
          for (int i = 0; i < W; ++i) store(out + (l + i) * width + part, v[i]);
        }
    return;
  }
  // Step by step, which reads long pieces of memory. Whole vectors where they end within the matrix, if not within the panel.
  for (int64_t l = 0; l < k; ++l) {
    const real* from = x.data + l * x.step;
    real* to = out + l * width;
    const bool more = l + 1 < k && x.step >= width;
    for (int64_t begin = 0; begin < count; begin += height, from += height * x.line, to += width * k) {
      if (x.line == 1 && (more || begin + width <= count))
        for (int part = 0; part < width; part += W) store(to + part, load(from + part));
      else
        for (int i = 0; i < width; ++i) to[i] = begin + i < count ? from[i * x.line] : 0;
    }
  }
}

// For one or two rows that meet weights that nobody has packed and whose columns lie along k. The weights are read
// once, from where they lie, and no number is moved. An element is the sum of 16 sums side by side, each over every
// sixteenth product, with any instruction set: another order than that of the tiles.
constexpr int lanes = 16, vectors = lanes / W;

template <int rows>
void multiply_unpacked(const Lines& a, const Lines& b, int64_t n, int64_t k, real* c, int64_t c_row,
                       const Addend& addend) {
  constexpr int quarter = registers / 4 / (rows * vectors), columns = quarter > 1 ? quarter : 1;  // at a time
  const int64_t whole = k / lanes * lanes, last = k - lanes;
  // The rest of k is read together with numbers before it, which then count as 0.
  real is_left[lanes];
  for (int i = 0; i < lanes; ++i) is_left[i] = last + i >= whole;
  for (int64_t j = 0; j < n; j += W) {
    Vector sums[rows][vectors][W];
    for (int first = 0; first < W; first += columns) {
      Vector sum[rows][vectors][columns] = {};
      const real* column[columns];
      for (int i = 0; i < columns; ++i) column[i] = b.data + smaller(j + first + i, n - 1) * b.line;
      const auto add = [&](int64_t l, auto kept) __attribute__((always_inline)) {
        for (int v = 0; v < vectors; ++v)
          for (int row = 0; row < rows; ++row) {
            const Vector x = kept(load(a.data + row * a.line + l + v * W), v);
#pragma GCC unroll 16
            for (int i = 0; i < columns; ++i) sum[row][v][i] += x * kept(load(column[i] + l + v * W), v);
          }
      };
      for (int64_t l = 0; l < whole; l += lanes) add(l, [](Vector y, int) { return y; });
      if (whole < k) add(last, [&](Vector y, int v) { return load(is_left + v * W) != 0 ? y : Vector{}; });
      for (int row = 0; row < rows; ++row)
        for (int v = 0; v < vectors; ++v)
          for (int i = 0; i < columns; ++i) sums[row][v][first + i] = sum[row][v][i];
    }
    for (int row = 0; row < rows; ++row) {
      Vector all = {};
      for (int v = 0; v < vectors; ++v) {
        turn(sums[row][v]);
        for (int i = 0; i < W; ++i) all += sums[row][v][i];
      }
      for (int64_t i = 0; i < smaller(W, n - j); ++i) {
        const real* const from = addend.at(row, j + i).data;
        c[row * c_row + j + i] = from ? *from + all[i] : all[i];
      }
    }
  }
}

struct Float : UsualSizes {
  using Element = real;
  static constexpr int64_t MR = tile_rows, AR = panel_rows, NR = tile_columns;
  // A panel of b: 96 KiB with AVX-512, where c, which comes from memory, is then written once for 650 or 700 numbers along k;
  // else 24 KiB.
  static constexpr int64_t KC = registers == 32 ? 768 : 384;

  static int64_t depth(int64_t k) { return even(k, KC); }
  static int64_t steps(int64_t depth) { return depth; }
  static constexpr auto pack_a = pack<AR>, pack_b = pack<NR>;

  UNROLL_FORMULA static Vector load(const real* b) { return cpu::load(b); }
  UNROLL_FORMULA static void accumulate(Vector& sum, real a, Vector b) { sum += a * b; }

  // Does a product of so few rows that packing would take longer, and says whether it was one.
  static bool without_packing(const Share<Float>& s) {
    if (s.packed || s.m > 2 || s.a.step != 1 || s.b.step != 1 || s.k < lanes) return false;
    const auto multiply = s.m == 1 ? multiply_unpacked<1> : multiply_unpacked<2>;
    multiply(s.a, s.b, s.n, s.k, s.c, s.c_row, s.addend);
    return true;
  }

  explicit Float(int64_t) {}
  void multiply(const Tile<real>& t) const { multiply_rows<Float>(t); }
};

// To the nearest bfloat16, ties to even, as AVX512-BF16 rounds: denormal numbers to 0, NaN to a NaN.
UNROLL_FORMULA uint32_t rounded_to_bf16(uint32_t x) {
  constexpr uint32_t sign = 0x8000'0000, infinity = 0x7f80'0000, quiet = 0x0040'0000, kept = 0xffff'0000;
  const uint32_t size = x & ~sign;
  const uint32_t nearest = x + 0x7fff + (x >> 16 & 1);
  return (size > infinity ? x | quiet : size >> 23 == 0 ? x & sign : nearest) & kept;
}

template <int width>
void pack_rounded(const Lines& x, int64_t count, int64_t height, int64_t k, real* out) {
  pack<width>(x, count, height, k, out);
  const int64_t n = ceil_div(count, height) * width * k;
  for (int64_t i = 0; i < n; ++i)
    out[i] = __builtin_bit_cast(real, rounded_to_bf16(__builtin_bit_cast(uint32_t, out[i])));
}

// A product of two such numbers is exact in float, so only the order of the sums differs from gemm_bf16.cpp's and gemm_amx.cpp's. All are
// packed: to leave that out is a way of Float's own.
struct Rounded : Float {
  using Float::Float;
  static constexpr auto pack_a = pack_rounded<AR>, pack_b = pack_rounded<NR>;
};

}  // namespace

void fill_gemm(Kernels& k) noexcept {
  k.fp32 = products_of<Float>();
  k.emulated_bf16 = products_of<Rounded>();
}

}  // namespace unroll::cpu::inline UNROLL_ISA
