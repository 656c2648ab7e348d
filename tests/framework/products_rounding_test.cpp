// How matrix products round numbers: to bfloat16 or half precision, or split into three of bfloat16; and which float
// products do so.
#include <array>
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "framework/tensor.h"
#include "tests/framework/product_checks.h"

using namespace unroll;

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
    Tensor wide({n});
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
    const Tensor x = Tensor::from({count}, between);
    Tensor y = Tensor::full({count}, 2);
    const Memory rounded_x(between.size() * sizeof(uint16_t));
    p.round(x.data(), rounded_x.data(), count);
    p.widen(rounded_x.data(), y.data(), count, true);
    const std::vector<real> sums = y.to_host();
    for (size_t i = 0; i < between.size(); ++i)
      if (sums[i] != 2 + kind.rounds(between[i])) FAIL_CHECK(between[i], " and 2 are ", sums[i]);
  }
}
