// Kernels on the rows of a matrix, and on one dimension of a block.
#include "framework/kernels/cpu/launch.h"

namespace unroll::cpu::inline UNROLL_ISA {

// Calls finish(k, c, sum) for column c of each of `count` matrices [rows, cols], sum = Σ_r value(k, r, c). Sums
// blocks of rows, and these in their order, whatever the number of threads: a float that a million numbers went into
// rounds the next away.
template <class Value, class Finish>
static void each_column_sum(int64_t count, int64_t rows, int64_t cols, int64_t cost, Value value,
                            Finish finish) {
  constexpr int64_t width = 256, block = 1024;
  const int64_t pieces = (cols + width - 1) / width;
  spread(count * pieces, count * rows * cols * cost, [=](int64_t piece) {
    const int64_t k = piece / pieces, begin = piece % pieces * width, n = smaller(width, cols - begin);
    real sum[width] = {}, part[width];
    for (int64_t r = 0; r < rows;) {
      const int64_t end = smaller(r + block, rows);
      for (int64_t c = 0; c < n; ++c) part[c] = 0;
      for (; r + 4 <= end; r += 4) {
        simd(n, [&](int64_t c) {
          part[c] += (value(k, r, begin + c) + value(k, r + 1, begin + c)) +
                     (value(k, r + 2, begin + c) + value(k, r + 3, begin + c));
        });
      }
      for (; r < end; ++r) simd(n, [&](int64_t c) { part[c] += value(k, r, begin + c); });
      simd(n, [&](int64_t c) { sum[c] += part[c]; });
    }
    simd(n, [&](int64_t c) { finish(k, begin + c, sum[c]); });
  });
}

// Σ a and Σ b of value(c) = {a, b} over a row, in one pass. Two sums of each side by side, since an addition
// takes longer than one can be begun.
struct Two {
  real a, b;
};
template <class Value>
UNROLL_FORMULA Two row_sums(int64_t cols, Value value) {
  const int64_t half = cols / 2;
  real a = 0, b = 0, c = 0, d = 0;
#pragma omp simd reduction(+ : a, b, c, d)
  for (int64_t i = 0; i < half; ++i) {
    const Two one = value(i), other = value(half + i);
    a += one.a, b += one.b;
    c += other.a, d += other.b;
  }
  const Two last = 2 * half < cols ? value(2 * half) : Two{0, 0};
  return {a + c + last.a, b + d + last.b};
}

void sum_rows(const real* x, int64_t rows, int64_t cols, real* y, bool add) {
  with_flag(add, [=](auto adds) {
    each_column_sum(
        1, rows, cols, 1, [=](int64_t, int64_t r, int64_t c) { return x[r * cols + c]; },
        [=](int64_t, int64_t c, real sum) { put(adds, y[c], sum); });
  });
}

// y = exp(x - max x) / Σ exp(x - max x)
void softmax(const real* x, int64_t rows, int64_t cols, real* y) {
  each_row(rows, cols, 6, [=](int64_t r) {
    const real* in = x + r * cols;
    real* out = y + r * cols;
    real largest = in[0], sum = 0;
#pragma omp simd reduction(max : largest)
    for (int64_t c = 0; c < cols; ++c) largest = in[c] > largest ? in[c] : largest;
#pragma omp simd reduction(+ : sum)
    for (int64_t c = 0; c < cols; ++c) {
      const real e = exp_of_negative(in[c] - largest);
      out[c] = e;
      sum += e;
    }
    const real factor = 1 / sum;
    simd(cols, [&](int64_t c) { out[c] *= factor; });
  });
}

// dx = y (dy - Σ dy·y)
void softmax_gradient(const real* y, const real* dy, int64_t rows, int64_t cols, real* dx, bool add) {
  with_flag(add, [=](auto adds) {
    each_row(rows, cols, 2, [=](int64_t r) {
      const real *out = y + r * cols, *dout = dy + r * cols;
      real* din = dx + r * cols;
      real dot = 0;
#pragma omp simd reduction(+ : dot)
      for (int64_t c = 0; c < cols; ++c) dot += dout[c] * out[c];
      simd(cols, [&](int64_t c) { put(adds, din[c], out[c] * (dout[c] - dot)); });
    });
  });
}

// y = x - max x - log Σ exp(x - max x)
void log_softmax(const real* x, int64_t rows, int64_t cols, real* y) {
  each_row(rows, cols, 5, [=](int64_t r) {
    const real* in = x + r * cols;
    real* out = y + r * cols;
    real largest = in[0], sum = 0;
#pragma omp simd reduction(max : largest)
    for (int64_t c = 0; c < cols; ++c) largest = in[c] > largest ? in[c] : largest;
#pragma omp simd reduction(+ : sum)
    for (int64_t c = 0; c < cols; ++c) sum += exp_of_negative(in[c] - largest);
    const real norm = log(sum);
    simd(cols, [&](int64_t c) { out[c] = (in[c] - largest) - norm; });
  });
}

// dx = dy - exp(y) Σ dy
void log_softmax_gradient(const real* y, const real* dy, int64_t rows, int64_t cols, real* dx, bool add) {
  with_flag(add, [=](auto adds) {
    each_row(rows, cols, 5, [=](int64_t r) {
      const real *out = y + r * cols, *dout = dy + r * cols;
      real* din = dx + r * cols;
      real sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int64_t c = 0; c < cols; ++c) sum += dout[c];
      simd(cols, [&](int64_t c) { put(adds, din[c], dout[c] - exp_of_negative(out[c]) * sum); });
    });
  });
}

//   y = (x - mean) · rstd · gain + bias,  rstd = 1 / √(mean of (x - mean)² + eps)
// One pass finds both: the variance is that of x - x_0, whose mean is not far from zero beside it (shifted data:
// Chan, Golub and LeVeque 1983). An x_0 far out would leave squares of its distance, which round the others' away: then
// a second pass starts from the mean that the first came near.
void layer_norm_row(const real* x, const real* gain, const real* bias, real eps, int64_t n, real* y, bool add,
                    real& mean, real& rstd) {
  const real part = 1 / static_cast<real>(n);
  real m = x[0], shift, variance;
  int passes = 0;
  do {
    const Two sums = row_sums(n, [=](int64_t c) {
      const real d = x[c] - m;
      return Two{d, d * d};
    });
    shift = sums.a * part, variance = sums.b * part - shift * shift, m += shift;
  } while (++passes < 2 && shift * shift > 4 * variance);
  const real s = 1 / sqrt((variance < 0 ? 0 : variance) + eps);
  mean = m, rstd = s;
  with_flag(add, [=](auto adds) {
    with_flag(bias, [=](auto biased) {
      simd(n, [&](int64_t c) { put(adds, y[c], (x[c] - m) * s * gain[c] + (biased ? bias[c] : real{0})); });
    });
  });
}

// With x̂ = (x - mean) · rstd and g = dy · gain:
//   dx = rstd (g - mean of g - x̂ · mean of g·x̂)      dgain = dy·x̂
void layer_norm_row_gradient(const real* x, const real* gain, real mean, real rstd, const real* dy, int64_t n,
                             real* dx, bool add_dx, real* dgain) {
  const real part = 1 / static_cast<real>(n);
  with_flag(add_dx, [=](auto adds) {
    with_flag(dgain, [=](auto gathers) {
      const Two sums = row_sums(n, [=](int64_t c) {
        const real normal = (x[c] - mean) * rstd, g = dy[c] * gain[c];
        if (gathers) dgain[c] += dy[c] * normal;
        return Two{g, g * normal};
      });
      const real a = sums.a * part, b = sums.b * part;
      simd(n, [&](int64_t c) { put(adds, dx[c], rstd * (dy[c] * gain[c] - a - (x[c] - mean) * rstd * b)); });
    });
  });
}

void layer_norm(const real* x, const real* gain, const real* bias, real eps, int64_t rows, int64_t cols,
                real* y, bool add, real* mean, real* rstd) {
  each_row(rows, cols, 3, [=](int64_t r) {
    layer_norm_row(x + r * cols, gain, bias, eps, cols, y + r * cols, add, mean[r], rstd[r]);
  });
}

void layer_norm_gradient(const real* x, const real* gain, const real* mean, const real* rstd, const real* dy,
                         int64_t rows, int64_t cols, real* dx, bool add_dx, real* dgain, real* dbias) {
  if (dgain) {
    each_column_sum(
        1, rows, cols, 2,
        [=](int64_t, int64_t r, int64_t c) {
          return dy[r * cols + c] * ((x[r * cols + c] - mean[r]) * rstd[r]);
        },
        [=](int64_t, int64_t c, real sum) { dgain[c] += sum; });
  }
  if (dbias) sum_rows(dy, rows, cols, dbias, true);
  if (!dx) return;
  each_row(rows, cols, 4, [=](int64_t r) {
    const int64_t at = r * cols;
    layer_norm_row_gradient(x + at, gain, mean[r], rstd[r], dy + at, cols, dx + at, add_dx, nullptr);
  });
}

void sum_middle(const real* x, int64_t outer, int64_t n, int64_t inner, real scale, real* y) {
  if (inner == 1 && outer == 1) {
    y[0] = scale * static_cast<real>(reduce(n, [=](int64_t i) { return static_cast<double>(x[i]); }));
  } else if (inner == 1) {
    each_row(outer, n, 1, [=](int64_t r) {
      const real* row = x + r * n;
      constexpr int64_t block = 4096;  // as in a column: long sums of floats round everything away
      double total = 0;
      for (int64_t begin = 0; begin < n; begin += block) {
        const int64_t end = smaller(begin + block, n);
        real sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = begin; i < end; ++i) sum += row[i];
        total += static_cast<double>(sum);
      }
      y[r] = scale * static_cast<real>(total);
    });
  } else {
    each_column_sum(
        outer, n, inner, 1, [=](int64_t k, int64_t r, int64_t c) { return x[(k * n + r) * inner + c]; },
        [=](int64_t k, int64_t c, real sum) { y[k * inner + c] = scale * sum; });
  }
}

void sum_middle_gradient(const real* dy, int64_t outer, int64_t n, int64_t inner, real scale, real* dx,
                         bool add) {
  with_flag(add, [=](auto adds) {
    if (inner == 1 && outer == 1) {
      const real d = scale * dy[0];
      return each(n, 1, [=](int64_t i) { put(adds, dx[i], d); });
    }
    if (inner == 1) {
      return each_row(outer, n, 1, [=](int64_t r) {
        const real d = scale * dy[r];
        real* row = dx + r * n;
        simd(n, [&](int64_t i) { put(adds, row[i], d); });
      });
    }
    each_row(outer * n, inner, 1, [=](int64_t r) {
      const real* d = dy + r / n * inner;
      real* row = dx + r * inner;
      simd(inner, [&](int64_t c) { put(adds, row[c], scale * d[c]); });
    });
  });
}

// The first largest of n numbers; the first NaN, if there is one.
static int32_t first_largest(const real* x, int64_t n) {
  real largest = x[0];
  int nan = 0;
#pragma omp simd reduction(max : largest) reduction(| : nan)
  for (int64_t i = 0; i < n; ++i) {
    largest = x[i] > largest ? x[i] : largest;
    nan |= x[i] != x[i];
  }
  int64_t i = 0;
  while (nan ? x[i] == x[i] : x[i] != largest) ++i;
  return static_cast<int32_t>(i);
}

void max_middle(const real* x, int64_t outer, int64_t n, int64_t inner, real* y, int32_t* where) {
  each_row(outer, n * inner, 2, [=](int64_t k) {
    const real* block = x + k * n * inner;
    real* best = y + k * inner;
    int32_t* at = where + k * inner;
    if (inner == 1) {
      at[0] = first_largest(block, n);
      best[0] = block[at[0]];
      return;
    }
    for (int64_t c = 0; c < inner; ++c) best[c] = block[c], at[c] = 0;
    for (int64_t i = 1; i < n; ++i) {
      const real* row = block + i * inner;
      simd(inner, [&](int64_t c) {
        const bool better = (row[c] > best[c]) | ((row[c] != row[c]) & (best[c] == best[c]));
        best[c] = better ? row[c] : best[c];
        at[c] = better ? static_cast<int32_t>(i) : at[c];
      });
    }
  });
}

void max_middle_gradient(const real* dy, const int32_t* where, int64_t outer, int64_t n, int64_t inner,
                         real* dx) {
  each_row(outer, n * inner, 1, [=](int64_t k) {
    real* block = dx + k * n * inner;
    for (int64_t i = 0; i < n * inner; ++i) block[i] = 0;
    for (int64_t c = 0; c < inner; ++c) block[where[k * inner + c] * inner + c] = dy[k * inner + c];
  });
}

// Threads share out the columns, so that each sum is formed in the order of k.
void add_to_rows(const real* dy, const int32_t* ids, int64_t n, int64_t cols, real* table) {
  constexpr int64_t width = 256;
  spread((cols + width - 1) / width, n * cols, [=](int64_t piece) {
    const int64_t begin = piece * width, count = smaller(width, cols - begin);
    for (int64_t k = 0; k < n; ++k) {
      if (ids[k] < 0) continue;
      const real* from = dy + k * cols + begin;
      real* to = table + ids[k] * cols + begin;
      simd(count, [&](int64_t c) { to[c] += from[c]; });
    }
  });
}

void sums_of_rows(const real* dy, const int32_t* ids, int64_t n, int64_t cols, real* sums, int32_t* firsts) {
  each_row(n, n * cols, 1, [=](int64_t k) {
    real* sum = sums + k * cols;
    for (int64_t c = 0; c < cols; ++c) sum[c] = 0;
    firsts[k] = ids[k];
    for (int64_t before = 0; before < k; ++before)
      if (ids[before] == ids[k]) firsts[k] = -1;
    for (int64_t at = k; firsts[k] >= 0 && at < n; ++at)
      if (ids[at] == ids[k])
        for (int64_t c = 0; c < cols; ++c) sum[c] += dy[at * cols + c];
  });
}

}  // namespace unroll::cpu::inline UNROLL_ISA
