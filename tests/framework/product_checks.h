// Shared by the suites about matrix products: the products of every instruction set of this machine in each
// precision, random operands, and how far a result is from plain loops in double.
//
// How far may they be? Whatever the order, a sum of k products in float is within k·ε·Σ|a||b| of the exact one, ε
// being the distance from 1 to the next float (Higham, Accuracy and Stability, section 3.1; half of it would do, and
// the other half covers what is added to). With operands rounded to bfloat16 or half precision beforehand the same
// holds: two have 16 or 22 bits together, so their product is exact in float.
//
// Numbers that are split into three: six products are added, and the products left out are less than ε/2 of |a||b|.
// But on the way into c a sum over 32 is rounded once for each of the six, in place of once for each of 32, and
// before that k - 1 times at most if k is small. That is (k - 1 + 6 + 1) ε/2, which is within (k + 3) ε, as is what a
// larger k leads to.
//
// Arm's BFMMLA adds two products, and their sum to c, and errs by up to ε each time: of k products each is in at most
// k/2 + 1 such sums, and behind them c is added. That is within k·ε from k = 2 on, and one product is exact.
//
// TF32 has 10 bits after the first, and a GPU may cut off the others or round them: an operand is off by less than
// 2⁻¹⁰ of it, a product by less than 2 · 2⁻¹⁰ + 2⁻²⁰ of itself, and exact in float.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "framework/kernels/cpu/variants.h"
#include "framework/kernels/kernels.h"
#include "framework/memory.h"
#include "framework/random.h"
#include "tests/framework/kernel_vector.h"

namespace unroll {

#ifdef UNROLL_TEST_BF16_STANDIN
namespace cpu {
inline namespace avx512_bf16_standin {
const Kernels& table();
}
inline namespace amx_standin {
const Kernels& table();
}
}  // namespace cpu
#endif

inline constexpr float epsilon = std::numeric_limits<float>::epsilon();

// Rounds to the nearest number with so many bits less; of two equally near ones to the even one. NaN and infinity
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
inline float rounded_to_half(float x) {
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
  double cut_off = 0;      // of a product, relative to it: what is not read of the operands
};
inline const std::vector<Kind>& all_kinds() {
  static const std::vector<Kind> kinds = [] {
    std::vector<Kind> result;
#ifdef UNROLL_TEST_DEVICE
    const Kernels& k = kernels();
    return std::vector<Kind>{{"fp32", &k.fp32, rounded<0>},
                             {"tf32", &k.tf32, rounded<0>, 0, 2 * 0x1p-10 + 0x1p-20},
                             {"bf16", &k.bf16, rounded<16>},
                             {"fp16", &k.fp16, rounded_to_half}};
#endif
#ifdef UNROLL_TEST_BF16_STANDIN
    // Its instructions are played; those of AVX-512 beside them are not.
    for (const cpu::Variant& variant : cpu::variants()) {
      if (!variant.runs_here || variant.name != std::string("avx512")) continue;
      for (const Kernels* k : {&cpu::avx512_bf16_standin::table(), &cpu::amx_standin::table()})
        result.push_back({k->name, &k->bf16, rounded<16>});
      result.push_back({"amx_standin, split", &cpu::amx_standin::table().split_fp32, rounded<0>, 3});
    }
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
    Operand right = b.operand();
    if (packed) {
      kernels.pack(right, p.k, p.n, panels.data());
      right = {.data = nullptr, .row = 0, .col = 0, .packed = panels.data()};
    }
    kernels.gemm(a.operand(), right, p.m, p.n, p.k, c.data(), before.row, addend, scratch.data(), threads);
  }

  // The largest error in units of its bound; infinity if an element beyond the matrix has changed.
  double error(const KernelVector<float>& c, const Kind& kind) const {
    const std::vector<Sum>& expected = sums(kind.rounds);
    double worst = 0;
    for (size_t at = 0; at < c.size(); ++at) {
      const int64_t i = static_cast<int64_t>(at) / before.row, j = static_cast<int64_t>(at) % before.row;
      if (j >= p.n) {
        if (c[at] != before.values[at]) return static_cast<double>(infinity);
        continue;
      }
      if (!looks_at(i, j)) continue;
      const auto& [sum, size] = expected[static_cast<size_t>(i * p.n + j)];
      const double error = std::abs(static_cast<double>(c[at]) - sum) /
                           ((static_cast<double>(p.k + kind.more) * epsilon + kind.cut_off) * size);
      if (!(error <= worst)) worst = error;  // a NaN stays
    }
    return worst;
  }

  // Plain loops take seconds for a product larger than caches: of these, every eighth element of each row and of each
  // column, and the last row and column. A block that is wrong is wrong in a row or a column at least.
  bool looks_at(int64_t i, int64_t j) const {
    return p.m * p.n * p.k < 1 << 26 || (i + j) % 8 == 0 || i == p.m - 1 || j == p.n - 1;
  }

  // [m, n] in double, of operands that are rounded first; and with it the sum of the absolute values.
  struct Sum {
    double sum, size;
  };
  const std::vector<Sum>& sums(float (*rounds)(float)) const {
    std::vector<Sum>& result = exact[rounds];
    if (!result.empty()) return result;
    const auto rows = [&](const Random& matrix, int64_t count, int64_t row, int64_t col) {  // [count, k]
      std::vector<double> numbers;
      for (int64_t i = 0; i < count; ++i)
        for (int64_t l = 0; l < p.k; ++l)
          numbers.push_back(rounds(matrix.values[static_cast<size_t>(i * row + l * col)]));
      return numbers;
    };
    const std::vector<double> a_rows = rows(a, p.m, a.row, a.col), b_columns = rows(b, p.n, b.col, b.row);
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j) {
        if (!looks_at(i, j)) {
          result.push_back({});
          continue;
        }
        double sum = p.add ? static_cast<double>(before.values[static_cast<size_t>(i * before.row + j)]) : 0;
        double size = std::abs(sum);
        const double *x = &a_rows[static_cast<size_t>(i * p.k)],
                     *y = &b_columns[static_cast<size_t>(j * p.k)];
        for (int64_t l = 0; l < p.k; ++l) sum += x[l] * y[l], size += std::abs(x[l] * y[l]);
        result.push_back({sum, size});
      }
    return result;
  }

  Problem p;
  RandomStream stream;
  Random a, b, before, bias;
  mutable std::map<float (*)(float), std::vector<Sum>> exact;  // by what rounds the operands
};

inline bool same(const KernelVector<float>& a, const KernelVector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace unroll
