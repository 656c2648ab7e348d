// The CPU's launch helpers: each element, each row, reduce. Included by the kernels of one instruction set,
// and compiled into its namespace.
#pragma once

#include "framework/kernels/pointwise.h"
#include "framework/threads.h"

namespace unroll::cpu::inline UNROLL_ISA {

using namespace pointwise;

#define UNROLL_TEXT(name) #name
#define UNROLL_NAME(name) UNROLL_TEXT(name)  // of UNROLL_ISA, as text

// Waking threads costs microseconds, more on a shared machine. Work is counted in elements times cost, where
// an addition costs 1 and an exponential about 4.
constexpr int64_t worth_threads = 65536;

constexpr int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

// task(i) for i in 0 … n-1, on several threads if that pays: in a few pieces for each, so that one that is
// slow, or whose core is taken, gets fewer.
template <class Task>
void spread(int64_t n, int64_t work, Task task) {
  const int64_t count = threads();
  if (work < worth_threads || n < 2 || count == 1) {
    for (int64_t i = 0; i < n; ++i) task(i);
    return;
  }
  const int64_t pieces = smaller(n, smaller(4 * count, most_threads));
  run_pieces(static_cast<int>(pieces), [&](int piece) {
    for (int64_t i = n * piece / pieces; i < n * (piece + 1) / pieces; ++i) task(i);
  });
}

// f(i) for i in 0 … n-1, in vector instructions: f neither branches nor depends on other elements.
template <class F>
UNROLL_FORMULA void simd(int64_t n, F f) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) f(i);
}

// As simd, on several threads if that pays.
template <class F>
void each(int64_t n, int64_t cost, F f) {
  constexpr int64_t block = 4096;
  spread((n + block - 1) / block, n * cost, [=](int64_t b) {
    const int64_t begin = b * block, end = smaller(begin + block, n);
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) f(i);
  });
}

// f(r) for each row.
template <class F>
void each_row(int64_t rows, int64_t cols, int64_t cost, F f) {
  spread(rows, rows * cols * cost, f);
}

// Σ f(i) over n elements in double. The order depends on n alone: sums of blocks, then the sum of those.
template <class F>
double reduce(int64_t n, F f) {
  constexpr int64_t most = 256;
  double partial[most];
  const int64_t block = (n + most - 1) / most < 16384 ? 16384 : (n + most - 1) / most;
  const int64_t blocks = (n + block - 1) / block;
  spread(blocks, n, [=, &partial](int64_t b) {
    const int64_t begin = b * block, end = smaller(begin + block, n);
    constexpr int width = 32;  // sums side by side, the same on every machine
    double sums[width] = {};
    int64_t i = begin;
    for (; i + width <= end; i += width) {
#pragma omp simd
      for (int k = 0; k < width; ++k) sums[k] += f(i + k);
    }
    for (int k = 0; i < end; ++i, ++k) sums[k] += f(i);
    partial[b] = 0;
    for (double sum : sums) partial[b] += sum;
  });
  double sum = 0;
  for (int64_t b = 0; b < blocks; ++b) sum += partial[b];
  return sum;
}

// A condition that is known when compiling.
template <bool value>
struct Flag {
  constexpr operator bool() const { return value; }
};
// Calls use(Flag<condition>{}).
template <class Use>
void with_flag(bool condition, Use use) {
  condition ? use(Flag<true>{}) : use(Flag<false>{});
}

// Overwrites, or adds.
template <bool add>
UNROLL_FORMULA void put(Flag<add>, real& y, real value) {
  y = add ? y + value : value;
}

// The work on one row, for kernels that have it in a cache already (rows.cpp).
// As kernels.h says of layer_norm. bias may be null.
void layer_norm_row(const real* x, const real* gain, const real* bias, real eps, int64_t n, real* y, bool add,
                    real& mean, real& rstd);
// dx may be x. dgain is added to what it holds, or null.
void layer_norm_row_gradient(const real* x, const real* gain, real mean, real rstd, const real* dy, int64_t n,
                             real* dx, bool add_dx, real* dgain);

}  // namespace unroll::cpu::inline UNROLL_ISA
