// Matrix products are right to rounding: the kernels of every instruction set of this machine, in float and in
// bfloat16, and a device's in half precision too. On a CPU an element's bits depend on nothing but its row and its
// column.
#include <array>
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "tests/framework/product_checks.h"
#include "tests/support.h"

using namespace unroll;

namespace {

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
#ifndef UNROLL_TEST_DEVICE  // where what is packed is another layout, and so another kernel of cuBLAS
    // One row or two meet weights as they lie in an order of their own, which is 16 sums side by side.
    bool unpacked = p.m <= 2 && p.k >= 16 && p.turn_b && kind.rounds == rounded<0> && kind.more == 0;
    if (p.turn_a && p.m + p.spare > 1) unpacked = false;  // a row does not lie in one piece
    // Halves of a long k are summed each for itself, unless b was packed beforehand.
    const bool halved = p.k >= 4096 && p.m * p.n * p.k >= 1 << 20;
    if (!unpacked && !halved) CHECK(packed == c);
#endif
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
}

// Over stand-ins these take a minute: tests/meson.build.
TEST_CASE("products larger than caches are right to rounding") {
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
        std::array{620, 330, 800}, std::array{60, 75, 4999}, std::array{75, 60, 8192},
        // which threads pack together, a part of k after the other
        std::array{70, 66, 4095}, std::array{66, 70, 4095}}) {
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

#ifndef UNROLL_TEST_DEVICE  // cuBLAS promises the bits of a call, not of an element
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
#endif

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
