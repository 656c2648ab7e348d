// Kernels along the middle dimension of a block: sums of exponentials, running sums, and elements by their numbers.
#include "framework/kernels/columns.h"
#include "framework/kernels/cuda/fill.h"
#include "framework/kernels/cuda/launch.h"

namespace unroll::cuda {
namespace {

struct LogSumExp {
  const real* x;
  int64_t n, inner;
  real* y;
  UNROLL_KERNEL void operator()(int64_t k) const {
    y[k] = column_log_sum_exp(x + column(k, n, inner), n, inner);
  }
};
struct LogSumExpOfRow {
  const real* x;
  int64_t n;
  real* y;
  UNROLL_KERNEL void operator()(const Team& team, int64_t r) const {
    const real* row = x + r * n;
    const bool nan = team.any(n, [=](int64_t i) { return row[i] != row[i]; });
    const real largest = n > 0 ? team.max(n, [=](int64_t i) { return row[i]; }) : -__builtin_inff();
    const bool finite = !nan && largest - largest == 0;
    const real sum = team.sum(finite ? n : 0, [=](int64_t i) { return exp_of_negative(row[i] - largest); });
    team.each(1, [=, this](int64_t) {
      y[r] = nan ? real(__builtin_nanf("")) : finite ? largest + log(sum) : largest;
    });
  }
};
void log_sum_exp(const real* x, int64_t outer, int64_t n, int64_t inner, real* y) {
  given(x, outer * n * inner), given(y, outer * inner);
  if (inner == 1)
    each_row(outer, LogSumExpOfRow{x, n, y});
  else
    each_index(outer * inner, LogSumExp{x, n, inner, y});
}

struct LogSumExpSlope {
  bool add;
  UNROLL_KERNEL void operator()(real x, real y, real dy, real& dx) const {
    put(add, dx, dy * log_sum_exp_slope(x, y));
  }
};
void log_sum_exp_gradient(const real* x, const real* y, const real* dy, int64_t outer, int64_t n,
                          int64_t inner, real* dx, bool add) {
  const int64_t all = outer * n * inner, sums = outer * inner;
  if (all == 0) return;
  const OfColumn at(n, inner);
  each(all, LogSumExpSlope{add}, read(x, all), read_chosen(y, sums, sums, at),
       read_chosen(dy, sums, sums, at), write(dx, all, add));
}

struct Cumulate {
  const real* x;
  int64_t n, inner;
  bool backwards;
  real* y;
  bool add;
  UNROLL_KERNEL void operator()(int64_t k) const {
    const int64_t at = column(k, n, inner);
    cumulate_column(x + at, n, inner, backwards, y + at, add);
  }
};
void cumulate(const real* x, int64_t outer, int64_t n, int64_t inner, bool backwards, real* y, bool add) {
  const int64_t all = outer * n * inner;
  each_index(outer * inner, Cumulate{given(x, all), n, inner, backwards, given(y, all), add});
}

// Where element i of [outer, count, inner] lies in [outer, n, inner].
struct TakenFrom {
  const int32_t* ids;
  bool shared;
  int64_t n;
  Divisor inner, count;
  UNROLL_KERNEL int64_t operator()(int64_t i) const {
    const int64_t r = inner.quotient(i), o = count.quotient(r);
    const int64_t id = ids[shared ? r - o * count.by() : i];
    return (o * n + id) * inner.by() + (i - r * inner.by());
  }
};
struct Take {
  UNROLL_KERNEL void operator()(real x, real& y) const { y = x; }
};
void take_middle(const real* x, const int32_t* ids, bool shared, int64_t outer, int64_t n, int64_t inner,
                 int64_t count, real* y) {
  const int64_t all = outer * count * inner;
  if (all == 0) return;
  const TakenFrom from{given(ids, shared ? count : all), shared, n, Divisor(inner), Divisor(count)};
  each(all, Take{}, read_chosen(x, outer * n * inner, all, from), write(y, all));
}

// A column's sums have one thread: no two add to the same place.
struct AddToMiddle {
  const real* dy;
  const int32_t* ids;
  bool shared;
  int64_t n, inner, count;
  real* dx;
  UNROLL_KERNEL void operator()(int64_t k) const {
    const int64_t of_y = column(k, count, inner);
    add_to_column(dy + of_y, shared ? ids : ids + of_y, shared ? 1 : inner, count, inner,
                  dx + column(k, n, inner));
  }
};
void add_to_middle(const real* dy, const int32_t* ids, bool shared, int64_t outer, int64_t n, int64_t inner,
                   int64_t count, real* dx) {
  const int64_t all = outer * count * inner;
  each_index(outer * inner, AddToMiddle{given(dy, all), given(ids, shared ? count : all), shared, n, inner,
                                        count, changed(dx, outer * n * inner)});
}

struct Largest {
  const real* x;
  int64_t cols, count;
  int32_t* where;
  UNROLL_KERNEL void operator()(int64_t r) const {
    largest_of_row(x + r * cols, cols, count, where + r * count);
  }
};
void largest(const real* x, int64_t rows, int64_t cols, int64_t count, int32_t* where) {
  each_index(rows, Largest{given(x, rows * cols), cols, count, given(where, rows * count)});
}

struct SoftmaxWithin {
  real* x;
  int64_t cols;
  SeenColumns seen;
  real scale, slope;
  UNROLL_KERNEL void operator()(const Team& team, int64_t r) const {
    real* const all = x + r * cols;
    const SeenSpan span = seen_in_row(seen, r, cols);
    real* const row = all + span.begin;
    const int64_t n = span.end - span.begin, behind = span.end, last = n - 1;
    const real factor = scale, more = slope;
    if (n > 0) {
      // Columns count back from the last, as on a CPU.
      const auto score = [=](int64_t c) { return factor * row[c] + more * static_cast<real>(c - last); };
      const real largest = team.max(n, score);
      const real sum = team.sum(n, [=](int64_t c) { return row[c] = exp_of_negative(score(c) - largest); });
      const real share = 1 / sum;
      team.each(n, [=](int64_t c) { row[c] *= share; });
    }
    team.each(span.begin, [=](int64_t c) { all[c] = 0; });
    team.each(cols - behind, [=](int64_t c) { all[behind + c] = 0; });
  }
};
void softmax_within(real* x, int64_t rows, int64_t cols, const SeenColumns& seen, real scale, real slope) {
  if (seen.firsts) given(seen.firsts, (rows - 1) * seen.apart + 1);
  each_row(rows, SoftmaxWithin{changed(x, rows * cols), cols, seen, scale, slope});
}

}  // namespace

void fill_middle(Kernels& k) {
  k.log_sum_exp = log_sum_exp;
  k.log_sum_exp_gradient = log_sum_exp_gradient;
  k.cumulate = cumulate;
  k.take_middle = take_middle;
  k.add_to_middle = add_to_middle;
  k.largest = largest;
  k.softmax_within = softmax_within;
}

}  // namespace unroll::cuda
