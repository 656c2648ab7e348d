// The losses' kernels.
#include "framework/kernels/cpu/launch.h"

namespace unroll::cpu::inline UNROLL_ISA {

//   loss = w (log Σ_k exp x_k - Σ_k t_k x_k)        dx = w·scale (softmax(x) - t), t = (1-s) onehot(target) + s / cols
// Three passes over a row that stays in cache: the largest, the exponentials with their sum, the gradient.
template <bool gradient>
static void cross_entropy_row(real* x, int32_t target, real weight, int64_t cols, real& loss, real scale,
                              real smoothing) {
  real largest = x[0];
#pragma omp simd reduction(max : largest)
  for (int64_t k = 0; k < cols; ++k) largest = x[k] > largest ? x[k] : largest;
  real chosen = x[target] - largest, sum = 0;
  const real each = smoothing / static_cast<real>(cols);
  if (smoothing > 0) {
    real all = 0;
#pragma omp simd reduction(+ : all)
    for (int64_t k = 0; k < cols; ++k) all += x[k] - largest;
    chosen = (1 - smoothing) * chosen + each * all;
  }
#pragma omp simd reduction(+ : sum)
  for (int64_t k = 0; k < cols; ++k) {
    const real e = exp_of_negative(x[k] - largest);
    if constexpr (gradient) x[k] = e;
    sum += e;
  }
  loss = weight * (log(sum) - chosen);
  if constexpr (gradient) {
    const real factor = weight * scale / sum;
    simd(cols, [&](int64_t k) { x[k] *= factor; });
    if (smoothing > 0) simd(cols, [&](int64_t k) { x[k] -= weight * scale * each; });
    x[target] -= weight * scale * (1 - smoothing);
  }
}

void cross_entropy(real* x, const int32_t* target, const real* weights, int32_t ignore, int64_t rows,
                   int64_t cols, real* loss, bool gradient, real scale, real smoothing, real* scored,
                   const LogitsOptions&) {
  with_flag(gradient, [=](auto with_gradient) {
    each_row(rows, cols, 6, [=](int64_t r) {
      real* row = x + r * cols;
      const real weight = weights ? weights[r] : 1;
      const bool counts = target[r] != ignore && weight != 0;
      if (scored) scored[r] = counts;
      if (counts)
        return cross_entropy_row<with_gradient>(row, target[r], weight, cols, loss[r], scale, smoothing);
      loss[r] = 0;
      if constexpr (with_gradient) {
        for (int64_t k = 0; k < cols; ++k) row[k] = 0;
      }
    });
  });
}

void binary_cross_entropy(const real* x, const real* t, real pos_weight, real* y, int64_t n) {
  each(n, 8, [=](int64_t i) { y[i] = pointwise::binary_cross_entropy(x[i], t[i], pos_weight); });
}

void binary_cross_entropy_gradient(const real* x, const real* t, real pos_weight, const real* dy, real* dx,
                                   int64_t n, bool add) {
  with_flag(add, [=](auto adds) {
    each(n, 4,
         [=](int64_t i) { put(adds, dx[i], dy[i] * binary_cross_entropy_slope(x[i], t[i], pos_weight)); });
  });
}

}  // namespace unroll::cpu::inline UNROLL_ISA
