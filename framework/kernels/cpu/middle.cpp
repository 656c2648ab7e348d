// Kernels along the middle dimension of a block: sums of exponentials, running sums, and elements by their numbers.
#include "framework/kernels/columns.h"
#include "framework/kernels/cpu/launch.h"

namespace unroll::cpu::inline UNROLL_ISA {

// f(k, at) for each column of [outer, n, inner], which begins at `at`.
template <class F>
static void each_column(int64_t outer, int64_t n, int64_t inner, int64_t cost, F f) {
  spread(outer * inner, outer * n * inner * cost, [=](int64_t k) { f(k, column(k, n, inner)); });
}

void log_sum_exp(const real* x, int64_t outer, int64_t n, int64_t inner, real* y) {
  if (inner > 1)
    return each_column(outer, n, inner, 6,
                       [=](int64_t k, int64_t at) { y[k] = column_log_sum_exp(x + at, n, inner); });
  each_row(outer, n, 5, [=](int64_t r) {
    const real* row = x + r * n;
    real largest = -__builtin_inff(), sum = 0;
    int nan = 0;
#pragma omp simd reduction(max : largest) reduction(| : nan)
    for (int64_t i = 0; i < n; ++i) {
      largest = row[i] > largest ? row[i] : largest;
      nan |= row[i] != row[i];
    }
    if (nan || largest - largest != 0) {
      y[r] = nan ? real(__builtin_nanf("")) : largest;
      return;
    }
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) sum += exp_of_negative(row[i] - largest);
    y[r] = largest + log(sum);
  });
}

void log_sum_exp_gradient(const real* x, const real* y, const real* dy, int64_t outer, int64_t n,
                          int64_t inner, real* dx, bool add) {
  with_flag(add, [=](auto adds) {
    if (inner == 1)
      return each_row(outer, n, 5, [=](int64_t r) {
        const real sum = y[r], d = dy[r];
        const real* row = x + r * n;
        real* to = dx + r * n;
        simd(n, [&](int64_t i) { put(adds, to[i], d * log_sum_exp_slope(row[i], sum)); });
      });
    each_row(outer * n, inner, 5, [=](int64_t r) {
      const real *sum = y + r / n * inner, *d = dy + r / n * inner, *row = x + r * inner;
      real* to = dx + r * inner;
      simd(inner, [&](int64_t c) { put(adds, to[c], d[c] * log_sum_exp_slope(row[c], sum[c])); });
    });
  });
}

void cumulate(const real* x, int64_t outer, int64_t n, int64_t inner, bool backwards, real* y, bool add) {
  each_column(outer, n, inner, 2,
              [=](int64_t, int64_t at) { cumulate_column(x + at, n, inner, backwards, y + at, add); });
}

void take_middle(const real* x, const int32_t* ids, bool shared, int64_t outer, int64_t n, int64_t inner,
                 int64_t count, real* y) {
  each_row(outer * count, inner, 1, [=](int64_t r) {
    const real* block = x + r / count * n * inner;
    real* to = y + r * inner;
    if (shared) {
      const real* from = block + ids[r % count] * inner;
      for (int64_t c = 0; c < inner; ++c) to[c] = from[c];
    } else {
      for (int64_t c = 0; c < inner; ++c) to[c] = block[ids[r * inner + c] * inner + c];
    }
  });
}

void take_rows(const real* table, const int32_t* ids, int64_t n, int64_t cols, real* y) {
  take_middle(table, ids, true, 1, 0, cols, n, y);  // of the one table it matters not how many rows there are
}

void add_to_middle(const real* dy, const int32_t* ids, bool shared, int64_t outer, int64_t n, int64_t inner,
                   int64_t count, real* dx) {
  spread(outer * inner, outer * count * inner * 2, [=](int64_t k) {
    const int64_t of_y = column(k, count, inner);
    add_to_column(dy + of_y, shared ? ids : ids + of_y, shared ? 1 : inner, count, inner,
                  dx + column(k, n, inner));
  });
}

void largest(const real* x, int64_t rows, int64_t cols, int64_t count, int32_t* where) {
  each_row(rows, cols, 4, [=](int64_t r) { largest_of_row(x + r * cols, cols, count, where + r * count); });
}

void softmax_within(real* x, int64_t rows, int64_t cols, const SeenColumns& seen, real scale, real slope) {
  each_row(rows, cols, 6, [=](int64_t r) {
    real* const all = x + r * cols;
    const auto [begin, end] = seen_in_row(seen, r, cols);
    real* const row = all + begin;
    const int n = static_cast<int>(end - begin);
    if (n > 0) {
      // Columns count back from the row's last, where the largest weights are, whose scores a large number would round:
      // the same added to all of a row changes nothing.
      const auto score = [=](int c) { return scale * row[c] + slope * static_cast<real>(c - (n - 1)); };
      real largest = score(0), sum = 0;
#pragma omp simd reduction(max : largest)
      for (int c = 0; c < n; ++c) largest = score(c) > largest ? score(c) : largest;
#pragma omp simd reduction(+ : sum)
      for (int c = 0; c < n; ++c) {
        const real e = exp_of_negative(score(c) - largest);
        row[c] = e;
        sum += e;
      }
      const real factor = 1 / sum;
#pragma omp simd
      for (int c = 0; c < n; ++c) row[c] *= factor;
    }
    for (int64_t c = 0; c < begin; ++c) all[c] = 0;
    for (int64_t c = end; c < cols; ++c) all[c] = 0;
  });
}

}  // namespace unroll::cpu::inline UNROLL_ISA
