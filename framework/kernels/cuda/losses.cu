// The losses' kernels.
#include "framework/kernels/cuda/fill.h"
#include "framework/kernels/cuda/launch.h"
#include "framework/kernels/cuda/rounded.h"

namespace unroll::cuda {
namespace {

// loss = w (log Σ_k exp x_k - Σ_k t_k x_k)        dx = w·scale (softmax(x) - t), t = (1-s) onehot(target) + s / cols
struct CrossEntropy {
  real* x;
  const int32_t* target;
  const real* weights;
  int32_t ignore;
  int64_t cols;
  real* loss;
  bool gradient;
  real scale, smoothing;
  real* scored;
  const real* bias;
  RoundedCopy rounded;
  UNROLL_KERNEL void operator()(const Team& team, int64_t r) const {
    real* row = x + r * cols;
    const RoundedCopy copy = rounded.from(r * cols);
    const auto logit = [=, this](int64_t k) { return bias ? row[k] + bias[k] : row[k]; };
    const int32_t chosen = target[r];
    const real weight = weights ? weights[r] : 1;
    const bool counts = chosen != ignore && weight != 0;
    if (scored) team.each(1, [=, this](int64_t) { scored[r] = counts; });
    if (!counts) {
      team.each(1, [=, this](int64_t) { loss[r] = 0; });
      if (gradient) team.each(cols, [=](int64_t k) { row[k] = 0, put_rounded(copy, k, 0); });
      return;
    }
    const real largest = team.max(cols, logit);
    const real each = smoothing / static_cast<real>(cols);
    real of_target = (1 - smoothing) * (logit(chosen) - largest);
    if (smoothing > 0) of_target += each * team.sum(cols, [=](int64_t k) { return logit(k) - largest; });
    team.each(0, [](int64_t) {});  // all have read it before any writes
    const real sum = team.sum(cols, [=, this](int64_t k) {
      const real e = exp_of_negative(logit(k) - largest);
      if (gradient) row[k] = e;
      return e;
    });
    team.each(1, [=, this](int64_t) { loss[r] = weight * (log(sum) - of_target); });
    if (!gradient) return;
    const real factor = weight * scale / sum, one = weight * scale * (1 - smoothing),
               part = weight * scale * each;
    team.each(cols, [=](int64_t k) {
      row[k] = row[k] * factor - part - (k == chosen ? one : real{0});
      put_rounded(copy, k, row[k]);
    });
  }
};
void cross_entropy(real* x, const int32_t* target, const real* weights, int32_t ignore, int64_t rows,
                   int64_t cols, real* loss, bool gradient, real scale, real smoothing, real* scored,
                   const LogitsOptions& options) {
  check_rounded(options.rounded, rows * cols);
  if (gradient)
    changed(x, rows * cols);
  else
    given(static_cast<const real*>(x), rows * cols);
  each_row(rows, CrossEntropy{x, given(target, rows), given(weights, rows), ignore, cols, given(loss, rows),
                              gradient, scale, smoothing, given(scored, rows), given(options.bias, cols),
                              options.rounded});
}

struct BceValue {
  real pos_weight;
  UNROLL_KERNEL void operator()(real x, real t, real& y) const {
    y = pointwise::binary_cross_entropy(x, t, pos_weight);
  }
};
void bce(const real* x, const real* t, real pos_weight, real* y, int64_t n) {
  each(n, BceValue{pos_weight}, read(x, n), read(t, n), write(y, n));
}

struct BceSlope {
  real pos_weight;
  bool add;
  UNROLL_KERNEL void operator()(real x, real t, real dy, real& dx) const {
    put(add, dx, dy * binary_cross_entropy_slope(x, t, pos_weight));
  }
};
void bce_gradient(const real* x, const real* t, real pos_weight, const real* dy, real* dx, int64_t n,
                  bool add) {
  each(n, BceSlope{pos_weight, add}, read(x, n), read(t, n), read(dy, n), write(dx, n, add));
}

}  // namespace

void fill_losses(Kernels& k) {
  k.cross_entropy = cross_entropy;
  k.binary_cross_entropy = bce;
  k.binary_cross_entropy_gradient = bce_gradient;
}

}  // namespace unroll::cuda
