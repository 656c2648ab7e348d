// The work on one column of [n, inner], its elements `inner` apart, written once for both back ends.
#pragma once

#include "framework/kernels/kernels.h"
#include "framework/kernels/pointwise.h"

namespace unroll::pointwise::inline UNROLL_ISA {

// The first element of column k of x [outer, n, inner], k in 0 … outer·inner - 1.
UNROLL_FORMULA int64_t column(int64_t k, int64_t n, int64_t inner) {
  return k / inner * n * inner + k % inner;
}

// log Σ exp x = m + log Σ exp(x - m), m = max x
UNROLL_FORMULA real column_log_sum_exp(const real* x, int64_t n, int64_t inner) {
  real largest = -__builtin_inff();
  bool nan = false;
  for (int64_t i = 0; i < n; ++i) {
    const real one = x[i * inner];
    nan |= one != one;
    largest = one > largest ? one : largest;
  }
  if (nan) return real(__builtin_nanf(""));
  if (largest - largest != 0) return largest;  // ±∞
  real sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += exp_of_negative(x[i * inner] - largest);
  return largest + log(sum);
}
UNROLL_FORMULA real log_sum_exp_slope(real x, real y) {
  return y == -__builtin_inff() ? real(0) : x == y ? real(1) : exp(x - y);  // ∞ - ∞ too
}

// y[i] (+)= x[0] + … + x[i], or backwards x[i] + … + x[n-1]. Summed in double: a long sum of floats rounds the next away.
UNROLL_FORMULA void cumulate_column(const real* x, int64_t n, int64_t inner, bool backwards, real* y,
                                    bool add) {
  double sum = 0;
  for (int64_t k = 0; k < n; ++k) {
    const int64_t at = (backwards ? n - 1 - k : k) * inner;
    sum += static_cast<double>(x[at]);
    y[at] = add ? y[at] + static_cast<real>(sum) : static_cast<real>(sum);
  }
}

// dx[ids[j]] += dy[j], in the order of j; ids of a column are `apart`.
UNROLL_FORMULA void add_to_column(const real* dy, const int32_t* ids, int64_t apart, int64_t count,
                                  int64_t inner, real* dx) {
  for (int64_t j = 0; j < count; ++j) dx[ids[j * apart] * inner] += dy[j * inner];
}

// The places of the `count` largest of a row, in order: each takes its place among those that are kept.
UNROLL_FORMULA bool comes_before(real a, real b) { return a > b || (a != a && b == b); }
UNROLL_FORMULA void largest_of_row(const real* x, int64_t cols, int64_t count, int32_t* where) {
  int64_t kept = 0;
  for (int64_t c = 0; c < cols; ++c) {
    if (kept == count && (count == 0 || !comes_before(x[c], x[where[count - 1]]))) continue;
    int64_t at = kept < count ? kept++ : count - 1;
    for (; at > 0 && comes_before(x[c], x[where[at - 1]]); --at) where[at] = where[at - 1];
    where[at] = static_cast<int32_t>(c);
  }
}

// The columns that row r sees: begin … end-1, none if they are equal.
struct SeenSpan {
  int64_t begin, end;
};
UNROLL_FORMULA SeenSpan seen_in_row(const SeenColumns& s, int64_t r, int64_t cols) {
  int64_t begin = s.begin + r * s.step, end = s.end + r * s.step;
  if (s.firsts) {
    const int64_t first = static_cast<int64_t>(s.firsts[r * s.apart]) - s.origin;
    begin = first > begin ? first : begin;
  }
  end = end < 0 ? 0 : end > cols ? cols : end;
  return {begin < 0 ? 0 : begin > end ? end : begin, end};
}

}  // namespace unroll::pointwise::inline UNROLL_ISA
