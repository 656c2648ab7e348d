// Matrix products: the kernels of every instruction set of this machine, in float and in bfloat16, and a device's in half
// precision too, against plain loops in double.
//
// How far may they be? Whatever the order, a sum of k products in float is within k·ε·Σ|a||b| of the exact
// one, ε being the distance from 1 to the next float (Higham, Accuracy and Stability, section 3.1; half of it
// would do, and the other half covers what is added to). With operands rounded to bfloat16 or half precision beforehand
// the same holds: two have 16 or 22 bits together, so their product is exact in float. Of numbers that are split into three, six
// products are added, and what is left out is less than ε/2 of |a||b|. But on the way into c a sum over 32 is rounded once for each
// of the six, in place of once for each of 32, and before that k - 1 times at most where k is small: (k - 1 + 6 + 1) ε/2, which is
// within (k + 3) ε, as is what a larger k leads to.
#include "framework/gemm.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "framework/kernels/cpu/variants.h"
#include "framework/random.h"
#include "tests/kernel_vector.h"
#include "tests/support.h"

using namespace unroll;

#ifdef UNROLL_TEST_BF16_STANDIN
namespace unroll::inline UNROLL_REAL::cpu {
inline namespace avx512_bf16_standin {
const Kernels& table();
}
inline namespace amx_standin {
const Kernels& table();
}
}  // namespace unroll::inline UNROLL_REAL::cpu
#endif

namespace {

constexpr float epsilon = std::numeric_limits<float>::epsilon();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

// What operands are rounded to: to the nearest number with so many bits less, and of two the even one. NaN and infinity
// stay.
template <int bits_less>
float rounded(float x) {
  if (bits_less == 0 || !std::isfinite(x)) return x;
  const uint32_t bits = std::bit_cast<uint32_t>(x), unit = uint32_t{1} << bits_less;
  return std::bit_cast<float>((bits + unit / 2 - 1 + (bits >> bits_less & 1)) & ~(unit - 1));
}

#ifdef UNROLL_TEST_DEVICE
// To half precision, which has 11 bits, steps of 2⁻²⁴ where they are smallest, and nothing beyond 65504. nearbyint takes the
// even one of two.
float rounded_to_half(float x) {
  if (!std::isfinite(x) || x == 0) return x;
  if (std::abs(x) >= 65'520) return std::copysign(infinity, x);
  const double step = std::ldexp(1.0, std::max(std::ilogb(x) - 10, -24));
  return static_cast<float>(std::nearbyint(static_cast<double>(x) / step) * step);
}
#endif

// The products of one back end, in one precision.
struct Kind {
  std::string name;
  const Products* products;
  float (*rounds)(float);  // operands
  int more = 0;            // roundings than k that the bound counts
};
const std::vector<Kind>& all_kinds() {
  static const std::vector<Kind> kinds = [] {
    std::vector<Kind> result;
#ifdef UNROLL_TEST_DEVICE
    const Kernels& k = kernels();
    return std::vector<Kind>{{"fp32", &k.fp32, rounded<0>},
                             {"tf32", &k.tf32, rounded<13>},
                             {"bf16", &k.bf16, rounded<16>},
                             {"fp16", &k.fp16, rounded_to_half}};
#endif
#ifdef UNROLL_TEST_BF16_STANDIN
    // Its instructions are played; those of AVX-512 beside them are not.
    for (const cpu::Variant& variant : cpu::variants())
      if (variant.runs_here && variant.name == std::string("avx512"))
        for (const Kernels* k : {&cpu::avx512_bf16_standin::table(), &cpu::amx_standin::table()})
          result.push_back({k->name, &k->bf16, rounded<16>});
    result.push_back({"amx_standin, split", &cpu::amx_standin::table().split_fp32, rounded<0>, 3});
    return result;
#endif
    for (const cpu::Variant& variant : cpu::variants()) {
      if (!variant.runs_here) continue;
      const Kernels& table = variant.table();
      // An instruction set that has bfloat16 takes the rest from another.
      if (table.bf16.gemm) {
        result.push_back({std::string(table.name) + ", bf16", &table.bf16, rounded<16>});
        if (table.split_fp32.gemm)
          result.push_back({std::string(table.name) + ", split", &table.split_fp32, rounded<0>, 3});
      } else {
        result.push_back({table.name, &table.fp32, rounded<0>});
        result.push_back({std::string(table.name) + ", emulated bf16", &table.emulated_bf16, rounded<16>});
      }
    }
    return result;
  }();
  return kinds;
}

// A matrix of random numbers, `spare` elements between its rows (its columns, if transposed).
struct Random {
  Random(RandomStream& stream, int64_t rows, int64_t cols, bool transposed, int64_t spare)
      : row(transposed ? 1 : cols + spare),
        col(transposed ? rows + spare : 1),
        values(static_cast<size_t>((rows - 1) * row + (cols - 1) * col + 1)) {
    for (float& v : values) v = static_cast<float>(stream.uniform() * 2 - 1);
  }
  Operand operand() const { return {values.data(), row, col}; }
  float& at(int64_t i, int64_t j) { return values[static_cast<size_t>(i * row + j * col)]; }
  int64_t row, col;
  KernelVector<float> values;  // ends with the last element, so that a sanitizer sees what reads beyond
};

// One product, and where its result goes.
struct Problem {
  int64_t m, n, k;
  bool turn_a = false, turn_b = false, add = false;
  int64_t spare = 0;
};
struct Product {
  explicit Product(const Problem& problem)
      : p(problem),
        stream(7, "gemm"),
        a(stream, p.m, p.k, p.turn_a, p.spare),
        b(stream, p.k, p.n, p.turn_b, p.spare),
        before(stream, p.m, p.n, false, p.spare),
        bias(stream, 1, p.n, false, 0) {}

  // c, with what lies between its rows
  KernelVector<float> run(const Products& kernels, bool packed, int threads = 1) const {
    KernelVector<float> c = before.values;
    run(kernels, packed, threads, c, p.add ? Addend{c.data(), before.row} : Addend{});
    return c;
  }

  // With the bias, which the product adds, or which stands in each row of c beforehand.
  KernelVector<float> with_bias(const Products& kernels, bool packed, bool beforehand) const {
    KernelVector<float> c = before.values;
    if (beforehand)
      for (int64_t i = 0; i < p.m; ++i)
        std::copy(bias.values.begin(), bias.values.end(), c.begin() + i * before.row);
    run(kernels, packed, 1, c, beforehand ? Addend{c.data(), before.row} : Addend{bias.values.data(), 0});
    return c;
  }

  void run(const Products& kernels, bool packed, int threads, KernelVector<float>& c,
           const Addend& addend) const {
    const Memory scratch(static_cast<size_t>(kernels.scratch_bytes * threads));
    const Memory panels(static_cast<size_t>(kernels.packed_bytes(p.k, p.n)));
    if (packed) {
      kernels.pack(b.operand(), p.k, p.n, panels.data());
      kernels.gemm_packed(a.operand(), panels.data(), p.m, p.n, p.k, c.data(), before.row, addend,
                          scratch.data(), threads);
    } else {
      kernels.gemm(a.operand(), b.operand(), p.m, p.n, p.k, c.data(), before.row, addend, scratch.data(),
                   threads);
    }
  }

  // The largest error in units of its bound; infinity if an element beyond the matrix has changed.
  double error(const KernelVector<float>& c, const Kind& kind) const {
    const auto number = [&](float x) { return static_cast<double>(kind.rounds(x)); };
    double worst = 0;
    for (size_t at = 0; at < c.size(); ++at) {
      const int64_t i = static_cast<int64_t>(at) / before.row, j = static_cast<int64_t>(at) % before.row;
      if (j >= p.n) {
        if (c[at] != before.values[at]) return static_cast<double>(infinity);
        continue;
      }
      double sum = p.add ? static_cast<double>(before.values[at]) : 0, size = std::abs(sum);
      for (int64_t l = 0; l < p.k; ++l) {
        const double term = number(a.values[static_cast<size_t>(i * a.row + l * a.col)]) *
                            number(b.values[static_cast<size_t>(l * b.row + j * b.col)]);
        sum += term;
        size += std::abs(term);
      }
      const double error = std::abs(static_cast<double>(c[at]) - sum) /
                           (static_cast<double>(p.k + kind.more) * epsilon * size);
      if (!(error <= worst)) worst = error;  // a NaN stays
    }
    return worst;
  }

  Problem p;
  RandomStream stream;
  Random a, b, before, bias;
};

bool same(const KernelVector<float>& a, const KernelVector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

void check(const Problem& p) {
  CAPTURE(p.m);
  CAPTURE(p.n);
  CAPTURE(p.k);
  CAPTURE(p.turn_a);
  CAPTURE(p.turn_b);
  CAPTURE(p.add);
  CAPTURE(p.spare);
  const Product product(p);
  for (const Kind& kind : all_kinds()) {
    INFO("instruction set ", kind.name);
    const KernelVector<float> c = product.run(*kind.products, false);
    CHECK(product.error(c, kind) <= 1);
    const KernelVector<float> packed = product.run(*kind.products, true);
    CHECK(product.error(packed, kind) <= 1);
    // One row or two meet weights as they lie in an order of their own, which is 16 sums side by side.
    bool unpacked = p.m <= 2 && p.k >= 16 && p.turn_b && kind.rounds == rounded<0> && kind.more == 0;
    if (p.turn_a && p.m + p.spare > 1) unpacked = false;  // a row does not lie in one piece
    // Halves of a long k are summed each for itself, unless b was packed beforehand.
    bool halved = p.k >= 4096 && p.m * p.n * p.k >= 1 << 20;
#ifdef UNROLL_TEST_DEVICE
    unpacked = halved = false;
#endif
    if (!unpacked && !halved) CHECK(packed == c);
    for (bool packed : {false, true})
      CHECK(same(product.with_bias(*kind.products, packed, false),
                 product.with_bias(*kind.products, packed, true)));
  }
}

}  // namespace

TEST_CASE("products of all small sizes and layouts are right to rounding") {
  std::vector<int64_t> sizes;
  for (int64_t size = 1; size <= 17; ++size) sizes.push_back(size);
  for (int64_t size : {31, 32, 33, 63, 64, 65}) sizes.push_back(size);
  RandomStream random(7, "sizes");
  const auto any = [&] { return sizes[random.below(static_cast<uint32_t>(sizes.size()))]; };
  int layout = 0;
  for (int64_t size : sizes)
    for (const auto& [m, n, k] :
         {std::array{size, any(), any()}, std::array{any(), size, any()}, std::array{any(), any(), size}})
      for (int i = 0; i < 4; ++i, ++layout)
        check({m, n, k, (i & 1) != 0, (i & 2) != 0, (layout & 4) != 0, layout % 3});
}

TEST_CASE("products of several blocks along every dimension are right to rounding") {
  for (int layout = 0; layout < 4; ++layout) {
    const bool turn_a = layout & 1, turn_b = layout & 2;
    check({20, 75, 1031, turn_a, turn_b, true, 3});                               // few rows, blocks along k
    for (int64_t m : {1, 2, 3}) check({m, 75, 1031, turn_a, turn_b, m == 3, 2});  // fewer
    check({307, 41, 290, turn_a, turn_b, false, 1});                              // blocks of rows
    check({161, 1100, 20, turn_a, turn_b, true, 0});  // blocks of rows and of columns
    check({1, 1, 10007, turn_a, turn_b, false, 5});
  }
  check({60, 75, 4999, false, false, true, 1});   // halves of k: c is wide
  check({75, 60, 4097, true, true, false, 0});    // and tall
  check({4100, 5, 800, true, false, true, 0});    // b stays near: a is packed rows after rows, all of k
  check({8200, 3, 380, false, true, false, 1});   // in one block of it
  check({620, 330, 800, true, false, true, 0});   // all columns of b at once, of a block of k
  check({660, 690, 800, false, true, true, 1});   // also of AMX's, which hold two numbers an element
  check({1700, 257, 768, true, false, true, 0});  // b stays, of one block of k or two: rows after rows
  check({3400, 257, 384, false, true, false, 1});
  check({850, 129, 1536, true, false, true, 0});  // or of two or four
  // Neither stays: part of k after part, with AVX-512 rows after rows.
  check({800, 690, 1536, true, false, true, 0});
}

TEST_CASE("the bits of a product do not depend on threads") {
  for (const auto& [m, n, k] :
       {std::array{1, 2000, 650}, std::array{20, 1000, 300}, std::array{301, 127, 290},
        std::array{150, 333, 270}, std::array{20, 200, 1500}, std::array{4100, 5, 800},
        std::array{620, 330, 800}, std::array{60, 75, 4999}, std::array{75, 60, 8192}}) {
    const Product product({m, n, k, false, true, true, 1});
    for (const Kind& kind : all_kinds())
      for (bool packed : {false, true}) {
        INFO("instruction set ", kind.name);
        CAPTURE(m);
        CAPTURE(packed);
        const KernelVector<float> one = product.run(*kind.products, packed, 1);
        for (int count : {2, 3, 4}) {
          const Threads guard(count);
          CAPTURE(count);
          CHECK(same(product.run(*kind.products, packed, count), one));
        }
      }
  }
}

TEST_CASE("an element's bits depend on its row and its column alone") {
  const Product whole({50, 70, 300, false, true, false, 0});
  for (const Kind& kind : all_kinds()) {
    INFO("instruction set ", kind.name);
    const KernelVector<float> c = whole.run(*kind.products, false);
    Product part = whole;  // rows 7 … 26, columns 5 … 42
    part.p.m = 20, part.p.n = 38;
    part.a.values.erase(part.a.values.begin(), part.a.values.begin() + 7 * part.a.row);
    part.b.values.erase(part.b.values.begin(), part.b.values.begin() + 5 * part.b.col);
    const KernelVector<float> d = part.run(*kind.products, true);
    for (int64_t i = 0; i < 20; ++i)
      CHECK(std::equal(&d[static_cast<size_t>(i * 70)], &d[static_cast<size_t>(i * 70)] + 38,
                       &c[static_cast<size_t>((i + 7) * 70 + 5)]));
  }
}

TEST_CASE("NaN and infinity reach the row or the column that they stand in, and no other") {
  for (int64_t m : {2, 7, 20, 61})
    for (float special : {not_a_number, infinity}) {
      Product product({m, 45, 37, m == 61, m == 20 || m == 2, false, 0});
      product.a.at(m - 1, 36) = special;
      product.b.at(0, 44) = special;
      for (const Kind& kind : all_kinds())
        for (bool packed : {false, true}) {
          INFO("instruction set ", kind.name);
          const KernelVector<float> c = product.run(*kind.products, packed);
          for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < 45; ++j)
              if (std::isfinite(c[static_cast<size_t>(i * 45 + j)]) != (i != m - 1 && j != 44))
                FAIL_CHECK("c[", i, ", ", j, "] = ", c[static_cast<size_t>(i * 45 + j)]);
        }
    }
  Product zero({3, 3, 3});
  std::fill(zero.a.values.begin(), zero.a.values.end(), 0.0f);
  zero.b.at(1, 1) = infinity;
  for (const Kind& kind : all_kinds()) CHECK(std::isnan(zero.run(*kind.products, false)[4]));  // 0 · ∞
}

TEST_CASE("operands are rounded to the nearest, of two the even one, and denormal ones to nothing") {
  // Around 1, above and below the middle of two bfloat16 numbers, and in it: 1 + 2⁻⁸ is even below, 1 + 3 · 2⁻⁸ above.
  std::vector<float> numbers = {
      1 + 0x1p-8f,      1 + 3 * 0x1p-8f, 1 + 0x1p-8f + 0x1p-23f, 1 + 3 * 0x1p-8f - 0x1p-23f, 0x1.fep+127f,
      0x1.fffffep+127f, 0x1p-126f};
  for (size_t i = 0, n = numbers.size(); i < n; ++i) numbers.push_back(-numbers[i]);
  const int64_t n = static_cast<int64_t>(numbers.size());
  Product product({n, 1, 1});
  std::copy(numbers.begin(), numbers.end(), product.a.values.begin());
  product.b.values[0] = 1;
  for (const Kind& kind : all_kinds()) {
    if (kind.rounds != rounded<16>) continue;
    INFO("instruction set ", kind.name);
    for (bool packed : {false, true}) {
      const KernelVector<float> c = product.run(*kind.products, packed);
      for (size_t i = 0; i < numbers.size(); ++i)
        CHECK(c[i * static_cast<size_t>(product.before.row)] == rounded<16>(numbers[i]));
    }
#ifndef UNROLL_TEST_DEVICE
    Product small({1, 1, 1});
    small.a.values[0] = 0x1.fep-127f;
    small.b.values[0] = 0x1p100f;
    CHECK(small.run(*kind.products, false)[0] == 0);
#endif
  }
}

TEST_CASE("numbers that are split keep float's precision whatever their size") {
  // Rows of a are 2⁴⁰ apart from one to the next in turns, columns of b 2⁻³⁰: an error shows against its own row and column.
  Product product({70, 40, 300, false, true, false, 0});
  for (int64_t l = 0; l < 300; ++l) {
    for (int64_t i = 0; i < 70; i += 2) product.a.at(i, l) *= 0x1p40f;
    for (int64_t j = 0; j < 40; j += 3) product.b.at(l, j) *= 0x1p-30f;
  }
  for (const Kind& kind : all_kinds()) {
    if (kind.name == "fp16") continue;  // its range ends before
    INFO("instruction set ", kind.name);
    CHECK(product.error(product.run(*kind.products, false), kind) <= 1);
  }
  // All 24 bits of a number reach c, up to where its low part is a denormal number; below they become fewer.
  const auto times_one = [](const Kind& kind, float x) {
    Product one({1, 1, 1});
    one.a.values[0] = x, one.b.values[0] = 1;
    return one.run(*kind.products, false)[0];
  };
  for (const Kind& kind : all_kinds()) {
    if (kind.more == 0) continue;
    for (float x :
         {0x1.fffffep+0f, -0x1.fffffep+0f, 0x1.010101p+0f, 0x1.ff01p-3f, 0x1.fep+127f, 0x1.fffffep-103f})
      CHECK(times_one(kind, x) == x);
    CHECK(std::abs(times_one(kind, 0x1.fffffep-120f) - 0x1.fffffep-120f) <= 0x1p-126f);
    CHECK(std::isnan(times_one(kind, infinity)));
  }
}

#if !defined(UNROLL_TEST_BF16_STANDIN) && !defined(UNROLL_TEST_DEVICE)
TEST_CASE(
    "with AMX large products of float numbers are those of split ones, small ones and packed ones AVX-512's") {
  const auto named = [](const char* name) -> const Kernels* {
    for (const cpu::Variant& variant : cpu::variants())
      if (variant.runs_here && variant.name == std::string(name)) return &variant.table();
    return nullptr;
  };
  const Kernels *amx = named("amx"), *avx512 = named("avx512");
  if (!amx) return;
  for (const auto& [m, n, k] :
       {std::array{64, 32, 32}, std::array{63, 32, 32}, std::array{64, 31, 32}, std::array{64, 32, 31},
        std::array{64, 1000, 300}, std::array{20, 1000, 300}}) {
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    const bool large = m >= 64 && n >= 32 && k >= 32;
    const Product product({m, n, k, false, true, false, 0});
    CHECK(same(product.run(amx->fp32, false, 2),
               product.run(large ? amx->split_fp32 : avx512->fp32, false, 2)));
    CHECK(same(product.run(amx->fp32, true, 2), product.run(avx512->fp32, true, 2)));
  }
}
#endif

TEST_CASE("gemm multiplies tensors and their transposes, packed or not") {
  const Tensor a = Tensor::from({2, 3}, std::vector<real>{1, 2, 3, 4, 5, 6});
  const Tensor b = Tensor::from({2, 3}, std::vector<real>{1, 0, 2, 0, 1, 1});
  const Tensor c({2, 2}), d({3, 3});
  gemm(a, transposed(b), overwrite(c));
  CHECK(c.to_host() == std::vector<real>{7, 5, 16, 11});
  gemm(a, PackedMatrix(transposed(b)), add_to(c));
  CHECK(c.to_host() == std::vector<real>{14, 10, 32, 22});
  const Tensor bias = Tensor::from({2}, std::vector<real>{100, 200});
  gemm(a, transposed(b), bias, c);
  CHECK(c.to_host() == std::vector<real>{107, 205, 116, 211});
  gemm(Tensor({2, 0}), Tensor({0, 2}), bias, c);
  CHECK(c.to_host() == std::vector<real>{100, 200, 100, 200});
  PackedMatrix packed(b);
  b.fill(9);  // too late
  gemm(transposed(a), packed, overwrite(d));
  CHECK(d.to_host() == std::vector<real>{1, 4, 6, 2, 5, 9, 3, 6, 12});
  gemm(Tensor({2, 0}), PackedMatrix(Tensor({0, 2})), overwrite(c));
  CHECK(c.to_host() == std::vector<real>{0, 0, 0, 0});
  gemm(Tensor({0, 3}), transposed(b), overwrite(Tensor({0, 2})));
}

TEST_CASE("precision is the process's, and what was packed keeps its own") {
  const bool available = kernels().bf16.gemm != nullptr;
  CHECK(precision() == Precision::fp32);
  CHECK(precision_named("auto") == (available ? Precision::bf16 : Precision::fp32));
  CHECK(lacks(error_of([] { precision_named("fp8"); }), {"'fp8'", "fp32, tf32, bf16, fp16, auto"}) == "");
  for (const Precision p : all_precisions) CHECK(precision_named(name_of(p)) == p);
  if (!kernels().fp16.gemm)
    CHECK(lacks(error_of([] { set_precision(Precision::fp16); }),
                {"precision fp16: this needs an NVIDIA GPU of compute capability 7.0", kernels().name}) ==
          "");
  if (!available) {
    CHECK(lacks(error_of([] { set_precision(Precision::bf16); }), {"AMX or AVX512-BF16", kernels().name}) ==
          "");
    return;
  }
  const Tensor a = Tensor::full({1, 1}, 1.001f), b = Tensor::full({1, 1}, 3), c({1, 1});  // 1.001 rounds to 1
  const PackedMatrix in_float(b);
  set_precision(Precision::bf16);
  gemm(a, b, overwrite(c));
  CHECK(c.item() == 3);
  gemm(a, in_float, overwrite(c));
  CHECK(c.item() == 1.001f * 3);
  const PackedMatrix in_bf16(b);
  set_precision(Precision::fp32);
  gemm(a, in_bf16, overwrite(c));
  CHECK(c.item() == 3);
  gemm(a, b, overwrite(c));
  CHECK(c.item() == 1.001f * 3);
}

TEST_CASE("what a library is given in 16 bits is rounded as operands are, and comes back as it was") {
  for (const Kind& kind : all_kinds()) {
    const Products& p = *kind.products;
    CAPTURE(kind.name);
    const bool of_16_bits =
        kind.name == "bf16" || kind.name == "fp16";  // and on a device: the CPU's names are others
    CHECK((p.round != nullptr) == of_16_bits);
    CHECK((p.widen != nullptr) == of_16_bits);
    if (!of_16_bits) continue;
    // All numbers of 16 bits, as their own.
    constexpr int64_t n = 1 << 16;
    std::vector<uint16_t> patterns(n), again(n);
    for (size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<uint16_t>(i);
    const Memory memory(n * sizeof(uint16_t)), back(n * sizeof(uint16_t));
    copy_to_device(memory.data(), patterns.data(), n * sizeof(uint16_t));
    const Tensor wide({n});
    p.widen(memory.data(), wide.data(), n, false);
    p.round(wide.data(), back.data(), n);
    copy_to_host(again.data(), back.data(), n * sizeof(uint16_t));
    const std::vector<real> numbers = wide.to_host();
    int64_t nans = 0;
    for (size_t i = 0; i < patterns.size(); ++i) {
      nans += std::isnan(numbers[i]);
      if (!std::isnan(numbers[i]) && again[i] != patterns[i])
        FAIL_CHECK("the pattern ", i, ", ", numbers[i], ", comes back as ", again[i]);
    }
    CHECK(nans == (kind.name == "bf16" ? 2 * 127 : 2 * 1023));
    // Numbers between them, ties among these, and sums.
    std::vector<real> between;
    for (size_t i = 0; i + 1 < 0x7000; i += 7) between.push_back((numbers[i] + numbers[i + 1]) / 2);
    RandomStream random(7, "between");
    for (int i = 0; i < 1000; ++i)
      between.push_back(
          std::ldexp(static_cast<real>(random.uniform() * 2 - 1), static_cast<int>(random.below(60)) - 40));
    for (const real x : {real(65'519), real(65'520), real(1e30), real(-1e-30), infinity})
      between.push_back(x);
    const int count = static_cast<int>(between.size());
    const Tensor x = Tensor::from({count}, between), y = Tensor::full({count}, 2);
    const Memory rounded_x(between.size() * sizeof(uint16_t));
    p.round(x.data(), rounded_x.data(), count);
    p.widen(rounded_x.data(), y.data(), count, true);
    const std::vector<real> sums = y.to_host();
    for (size_t i = 0; i < between.size(); ++i)
      if (sums[i] != 2 + kind.rounds(between[i])) FAIL_CHECK(between[i], " and 2 are ", sums[i]);
  }
}

TEST_CASE("sizes that do not fit are named") {
  const Tensor a({2, 3}), c({2, 3});
  CHECK(lacks(error_of([&] { gemm(a, a, overwrite(c)); }), {"[2, 3] times [2, 3]"}) == "");
  CHECK(lacks(error_of([&] { gemm(a, PackedMatrix(a), overwrite(c)); }), {"[2, 3] times [2, 3]"}) == "");
  CHECK(lacks(error_of([&] {
                gemm(transposed(a), a, Tensor({2}), Tensor({3, 3}));
              }),
              {"a bias [2] for 3 columns"}) == "");
  CHECK(lacks(error_of([&] { gemm(a, PackedMatrix(transposed(a)), overwrite(c)); }),
              {"does not give [2, 3]"}) == "");
}
