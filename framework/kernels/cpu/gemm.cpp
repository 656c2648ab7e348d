// Products in float.
#include "framework/kernels/cpu/fill.h"
#include "framework/kernels/cpu/gemm_vectors.h"

namespace unroll::inline UNROLL_REAL::cpu::inline UNROLL_ISA {
namespace {

// `count` lines, `height` to a panel [k, width]. What is beside them there does not matter, but is no
// denormal number.
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
  // Step by step, which reads long pieces of memory. Whole vectors where they end within the matrix, if not
  // within the panel.
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

struct Float {
  using Element = real;
  static constexpr int64_t MR = tile_rows, AR = panel_rows, NR = tile_columns;
  static constexpr int64_t KC = 384;      // a panel of b: 48 KiB
  static constexpr int64_t MC = 12 * MR;  // a block of a: at most 192 KiB
  static constexpr int64_t worth_a_thread = 1 << 19;
  static constexpr int64_t room = 384 * 1024;  // 1.5 of the second cache's 2 MiB

  static int64_t depth(int64_t k) { return even(k, KC); }
  static int64_t steps(int64_t depth) { return depth; }
  static constexpr auto pack_a = pack<AR>, pack_b = pack<NR>;

  UNROLL_FORMULA static Vector load(const real* b) { return cpu::load(b); }
  UNROLL_FORMULA static void accumulate(Vector& sum, real a, Vector b) { sum += a * b; }

  explicit Float(int64_t) {}
  void multiply(const Tile<real>& t) const { multiply_rows<Float>(t); }
};

}  // namespace

void fill_gemm(Kernels& k) noexcept { k.fp32 = products_of<Float>(); }

}  // namespace unroll::inline UNROLL_REAL::cpu::inline UNROLL_ISA
