// Shared by the suites about kernels: every instruction set of this machine, numbers, and a comparison with plain
// loops in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "framework/kernels/cpu/variants.h"
#include "framework/kernels/updates.h"
#include "framework/random.h"
#include "tests/framework/kernel_vector.h"

namespace unroll {

using Reals = KernelVector<real>;
using Ids = KernelVector<int32_t>;

inline constexpr bool is_float = sizeof(real) == 4;
// A few rounding errors, relative to the size of the numbers involved.
inline constexpr double rounding = is_float ? 4e-6 : 1e-13;

inline const std::vector<int64_t> odd_sizes = {1, 31, 33, 1000};
inline const std::vector<std::pair<int64_t, int64_t>> matrices = {{1, 1},   {1, 31},  {31, 1},   {3, 33},
                                                                  {7, 300}, {33, 31}, {20, 1000}};
inline constexpr int64_t parallel_size = 150001;  // enough for several threads

inline void each_variant(const std::function<void(const Kernels&)>& check) {
#ifdef UNROLL_TEST_DEVICE
  return check(kernels());
#endif
  for (const cpu::Variant& variant : cpu::variants()) {
    if (!variant.runs_here || variant.table().bf16.gemm) continue;  // its other kernels are another one's
    INFO("instruction set ", std::string(variant.name));
    check(variant.table());
  }
}

class Numbers {
 public:
  explicit Numbers(const char* path) : stream_(7, path) {}
  Reals reals(int64_t n, double low = -2, double high = 2) {
    Reals result(static_cast<size_t>(n));
    for (real& v : result) v = static_cast<real>(low + (high - low) * stream_.uniform());
    return result;
  }
  Ids ids(int64_t n, uint32_t bound) {
    Ids result(static_cast<size_t>(n));
    for (int32_t& v : result) v = static_cast<int32_t>(stream_.below(bound));
    return result;
  }

 private:
  RandomStream stream_;
};

// Compares with expected(i), or with what was there plus expected(i). `scale`: the size of the largest term.
template <class Expected>
void check_close(const Reals& got, Expected expected, double scale = 1, const Reals* before = nullptr) {
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double want =
        expected(static_cast<int64_t>(i)) + (before ? static_cast<double>((*before)[i]) : 0.0);
    const double error = std::abs(static_cast<double>(got[i]) - want) / std::max(scale, std::abs(want));
    if (!(error <= worst)) worst = error;  // a NaN stays
  }
  CHECK(worst <= rounding);
}

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
inline double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

}  // namespace unroll
