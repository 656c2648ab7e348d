// Kernels on the rows of a matrix, on one dimension of a block, and on rows chosen by number.
#include "framework/kernels/cuda/fill.h"
#include "framework/kernels/cuda/launch.h"
#include "framework/kernels/cuda/layer_norm.h"

namespace unroll::cuda {
namespace {

struct Element {  // of matrices [rows, cols]
  const real* x;
  int64_t rows, cols;
  UNROLL_KERNEL real operator()(int64_t k, int64_t r, int64_t c) const {
    return x[(k * rows + r) * cols + c];
  }
};
struct PutColumn {
  real* y;
  int64_t cols;
  real scale;
  bool add;
  UNROLL_KERNEL void operator()(int64_t k, int64_t c, real sum) const {
    put(add, y[k * cols + c], scale * sum);
  }
};
void sum_rows(const real* x, int64_t rows, int64_t cols, real* y, bool add) {
  each_column_sum(1, rows, cols, Element{given(x, rows * cols), rows, cols},
                  PutColumn{given(y, cols), cols, 1, add});
}

// y = exp(x - max x) / Σ exp(x - max x)
struct Softmax {
  const real* x;
  int64_t cols;
  real* y;
  UNROLL_KERNEL void operator()(const Team& team, int64_t r) const {
    const real* in = x + r * cols;
    real* out = y + r * cols;
    const real largest = team.max(cols, [=](int64_t c) { return in[c]; });
    const real sum = team.sum(cols, [=](int64_t c) { return out[c] = exp_of_negative(in[c] - largest); });
    const real factor = 1 / sum;
    team.each(cols, [=](int64_t c) { out[c] *= factor; });
  }
};
void softmax(const real* x, int64_t rows, int64_t cols, real* y) {
  each_row(rows, Softmax{given(x, rows * cols), cols, given(y, rows * cols)});
}

// dx = y (dy - Σ dy·y)
struct SoftmaxSlope {
  const real *y, *dy;
  int64_t cols;
  real* dx;
  bool add;
  UNROLL_KERNEL void operator()(const Team& team, int64_t r) const {
    const real *out = y + r * cols, *dout = dy + r * cols;
    real* din = dx + r * cols;
    const real dot = team.sum(cols, [=](int64_t c) { return dout[c] * out[c]; });
    team.each(cols, [=, this](int64_t c) { put(add, din[c], out[c] * (dout[c] - dot)); });
  }
};
void softmax_gradient(const real* y, const real* dy, int64_t rows, int64_t cols, real* dx, bool add) {
  const int64_t n = rows * cols;
  each_row(rows, SoftmaxSlope{given(y, n), given(dy, n), cols, given(dx, n), add});
}

// y = x - max x - log Σ exp(x - max x)
struct LogSoftmax {
  const real* x;
  int64_t cols;
  real* y;
  UNROLL_KERNEL void operator()(const Team& team, int64_t r) const {
    const real* in = x + r * cols;
    real* out = y + r * cols;
    const real largest = team.max(cols, [=](int64_t c) { return in[c]; });
    const real norm = log(team.sum(cols, [=](int64_t c) { return exp_of_negative(in[c] - largest); }));
    team.each(cols, [=](int64_t c) { out[c] = (in[c] - largest) - norm; });
  }
};
void log_softmax(const real* x, int64_t rows, int64_t cols, real* y) {
  each_row(rows, LogSoftmax{given(x, rows * cols), cols, given(y, rows * cols)});
}

// dx = dy - exp(y) Σ dy
struct LogSoftmaxSlope {
  const real *y, *dy;
  int64_t cols;
  real* dx;
  bool add;
  UNROLL_KERNEL void operator()(const Team& team, int64_t r) const {
    const real *out = y + r * cols, *dout = dy + r * cols;
    real* din = dx + r * cols;
    const real sum = team.sum(cols, [=](int64_t c) { return dout[c]; });
    team.each(cols, [=, this](int64_t c) { put(add, din[c], dout[c] - exp_of_negative(out[c]) * sum); });
  }
};
void log_softmax_gradient(const real* y, const real* dy, int64_t rows, int64_t cols, real* dx, bool add) {
  const int64_t n = rows * cols;
  each_row(rows, LogSoftmaxSlope{given(y, n), given(dy, n), cols, given(dx, n), add});
}

void layer_norm(const real* x, const real* gain, const real* bias, real eps, int64_t rows, int64_t cols,
                real* y, bool add, real* mean, real* rstd) {
  const int64_t n = rows * cols;
  each_row(rows, LayerNorm{given(x, n), given(gain, cols), given(bias, cols), eps, cols, given(y, n), add,
                           given(mean, rows), given(rstd, rows)});
}

struct GainSlope {
  const real *x, *mean, *rstd, *dy;
  int64_t cols;
  UNROLL_KERNEL real operator()(int64_t, int64_t r, int64_t c) const {
    return dy[r * cols + c] * ((x[r * cols + c] - mean[r]) * rstd[r]);
  }
};
void layer_norm_gradient(const real* x, const real* gain, const real* mean, const real* rstd, const real* dy,
                         int64_t rows, int64_t cols, real* dx, bool add_dx, real* dgain, real* dbias) {
  const int64_t n = rows * cols;
  given(x, n), given(dy, n), given(mean, rows), given(rstd, rows);
  if (dgain)
    each_column_sum(1, rows, cols, GainSlope{x, mean, rstd, dy, cols},
                    PutColumn{given(dgain, cols), cols, 1, true});
  if (dbias) sum_rows(dy, rows, cols, dbias, true);
  if (dx) each_row(rows, LayerNormSlope{x, given(gain, cols), mean, rstd, dy, cols, given(dx, n), add_dx});
}

struct SumRow {
  const real* x;
  int64_t n;
  real scale;
  real* y;
  UNROLL_KERNEL void operator()(const Team& team, int64_t r) const {
    const real* row = x + r * n;
    constexpr int64_t block = 65536;  // long sums of floats round everything away
    double total = 0;
    for (int64_t begin = 0; begin < n; begin += block)
      total += static_cast<double>(
          team.sum(n - begin < block ? n - begin : block, [=](int64_t i) { return row[begin + i]; }));
    team.each(1, [=, this](int64_t) { y[r] = scale * static_cast<real>(total); });
  }
};
struct Wide {
  const real* x;
  UNROLL_KERNEL double operator()(int64_t i) const { return x[i]; }
};
struct FromWide {
  const double* sum;
  real scale;
  real* y;
  UNROLL_KERNEL void operator()(int64_t) const { y[0] = scale * static_cast<real>(sum[0]); }
};
void sum_middle(const real* x, int64_t outer, int64_t n, int64_t inner, real scale, real* y) {
  given(x, outer * n * inner), given(y, outer * inner);
  if (inner == 1 && outer == 1) {
    double* sum = gpu::sum_of_reduction();
    reduce(n, Wide{x}, sum);
    each_index(1, FromWide{sum, scale, y});
  } else if (inner == 1) {
    each_row(outer, SumRow{x, n, scale, y});
  } else {
    each_column_sum(outer, n, inner, Element{x, n, inner}, PutColumn{y, inner, scale, false});
  }
}

struct SumMiddleSlope {
  real scale;
  bool add;
  UNROLL_KERNEL void operator()(real dy, real& dx) const { put(add, dx, scale * dy); }
};
void sum_middle_gradient(const real* dy, int64_t outer, int64_t n, int64_t inner, real scale, real* dx,
                         bool add) {
  const int64_t all = outer * n * inner, sums = outer * inner;
  if (all == 0) return;
  each(all, SumMiddleSlope{scale, add}, read_chosen(dy, sums, sums, OfColumn(n, inner)), write(dx, all, add));
}

// The first of the largest; the first NaN, if there is one.
struct MaxMiddle {
  const real* x;
  int64_t n, inner;
  real* y;
  int32_t* where;
  UNROLL_KERNEL void operator()(int64_t k) const {
    const real* column = x + k / inner * n * inner + k % inner;
    real best = column[0];
    int64_t at = 0;
    for (int64_t i = 1; i < n; ++i) {
      const real one = column[i * inner];
      if (one > best || (one != one && best == best)) best = one, at = i;
    }
    y[k] = best;
    where[k] = static_cast<int32_t>(at);
  }
};
void max_middle(const real* x, int64_t outer, int64_t n, int64_t inner, real* y, int32_t* where) {
  const int64_t sums = outer * inner;
  each_index(sums, MaxMiddle{given(x, sums * n), n, inner, given(y, sums), given(where, sums)});
}

// The place of each element of [outer, n, inner] in its column, where the largest has the number `where`.
struct MaxMiddleSlope {
  Divisor inner, n;
  UNROLL_KERNEL void operator()(int64_t i, int32_t where, real dy, real& dx) const {
    dx = where == n.rest(inner.quotient(i)) ? dy : 0;
  }
};
void max_middle_gradient(const real* dy, const int32_t* where, int64_t outer, int64_t n, int64_t inner,
                         real* dx) {
  const int64_t sums = outer * inner, all = sums * n;
  if (all == 0) return;
  const OfColumn at(n, inner);
  each(all, MaxMiddleSlope{Divisor(inner), Divisor(n)}, Index{}, read_chosen(where, sums, sums, at),
       read_chosen(dy, sums, sums, at), write(dx, all));
}

struct TakeRow {
  UNROLL_KERNEL void operator()(real x, real& y) const { y = x; }
};
void take_rows(const real* table, const int32_t* ids, int64_t n, int64_t cols, real* y) {
  if (n * cols == 0) return;
  each(n * cols, TakeRow{}, RowsOf{{}, given(table, 1, n * cols), given(ids, n), Divisor(cols)},
       write(y, n * cols));
}

// No two teams add to one row: the team of a number's first occurrence adds all of them, in order. It finds them by
// looking at every number once, which costs less than sorting them as long as there are thousands, not millions.
struct AddToRows {
  const real* dy;
  const int32_t* ids;
  int64_t n, cols;
  real* table;
  UNROLL_KERNEL void operator()(const Team& team, int64_t first) const {
    const int32_t id = ids[first];
    if (id < 0 || team.any(first, [=, this](int64_t k) { return ids[k] == id; })) return;
    add(team, first, table + id * cols);
  }
  // The rows with the number of ids[first], from there on.
  UNROLL_KERNEL void add(const Team& team, int64_t first, real* row) const {
    const int32_t id = ids[first];
    const auto is_it = [=, this](int64_t k) { return ids[k] == id; };
    team.gather(first, n, is_it, [=, this](const int64_t* list, int count) {
      for (int64_t c = threadIdx.x; c < cols; c += team_size) {
        real sum = row[c];
        for (int i = 0; i < count; ++i) sum += dy[list[i] * cols + c];
        row[c] = sum;
      }
    });
  }
};
struct SumsOfRows {
  AddToRows rows;
  int32_t* firsts;
  UNROLL_KERNEL void operator()(const Team& team, int64_t k) const {
    const int32_t id = rows.ids[k];
    real* const sum = rows.table + k * rows.cols;
    const bool again = team.any(k, [=, this](int64_t before) { return rows.ids[before] == id; });
    team.each(1, [=, this](int64_t) { firsts[k] = again ? -1 : id; });
    team.each(rows.cols, [=](int64_t c) { sum[c] = 0; });
    if (!again) rows.add(team, k, sum);
  }
};
void sums_of_rows(const real* dy, const int32_t* ids, int64_t n, int64_t cols, real* sums, int32_t* firsts) {
  each_row(
      n, SumsOfRows{{given(dy, n * cols), given(ids, n), n, cols, given(sums, n * cols)}, given(firsts, n)});
}
void add_to_rows(const real* dy, const int32_t* ids, int64_t n, int64_t cols, real* table) {
  each_row(n, AddToRows{given(dy, n * cols), given(ids, n), n, cols, changed(table, 1, n * cols)});
}

}  // namespace

void fill_rows(Kernels& k) {
  k.sum_rows = sum_rows;
  k.softmax = softmax;
  k.softmax_gradient = softmax_gradient;
  k.log_softmax = log_softmax;
  k.log_softmax_gradient = log_softmax_gradient;
  k.layer_norm = layer_norm;
  k.layer_norm_gradient = layer_norm_gradient;
  k.sum_middle = sum_middle;
  k.sum_middle_gradient = sum_middle_gradient;
  k.max_middle = max_middle;
  k.max_middle_gradient = max_middle_gradient;
  k.take_rows = take_rows;
  k.add_to_rows = add_to_rows;
  k.sums_of_rows = sums_of_rows;
}

}  // namespace unroll::cuda
