// The optimizers' passes over slabs of weights, and sums over slabs.
#include "framework/device.h"
#include "framework/kernels/cuda/fill.h"
#include "framework/kernels/cuda/launch.h"

namespace unroll::inline UNROLL_REAL::cuda {
namespace {

struct Square {
  const real* x;
  UNROLL_KERNEL double operator()(int64_t i) const {
    const double v = x[i];
    return v * v;
  }
};
struct Value {
  const real* x;
  UNROLL_KERNEL double operator()(int64_t i) const { return x[i]; }
};
template <class F>
double reduced(int64_t n, F f) {
  double* sum = gpu::sum_of_reduction();
  reduce(n, f, sum);
  double result = 0;
  copy_to_host(&result, sum, sizeof result);
  return result;
}
double sum_of_squares(const real* x, int64_t n) { return reduced(n, Square{given(x, n)}); }
double sum(const real* x, int64_t n) { return reduced(n, Value{given(x, n)}); }

struct SgdStep {
  SgdUpdate u;
  real* p;
  const real* g;
  real* velocity;
  UNROLL_KERNEL void operator()(int64_t i) const {
    if (velocity)
      sgd_with_momentum(u, p[i], g[i], velocity[i]);
    else
      p[i] -= u.learning_rate * sgd_direction(u, p[i], g[i]);
  }
};
void sgd(const SgdUpdate& u, real* p, const real* g, real* velocity, int64_t n) {
  each(n, SgdStep{u, given(p, n), given(g, n), given(velocity, n)});
}

struct AdamStep {
  AdamUpdate u;
  AdamFactors k;
  real* p;
  const real* g;
  real *m, *v;
  UNROLL_KERNEL void operator()(int64_t i) const { adam_step(u, k, p[i], g[i], m[i], v[i]); }
};
void adam(const AdamUpdate& u, real* p, const real* g, real* m, real* v, int64_t n) {
  each(n, AdamStep{u, adam_factors(u), given(p, n), given(g, n), given(m, n), given(v, n)});
}

struct Average {
  const real* p;
  real weight;
  real* mean;
  UNROLL_KERNEL void operator()(int64_t i) const { mean[i] += weight * (p[i] - mean[i]); }
};
void average(const real* p, real weight, real* mean, int64_t n) {
  each(n, Average{given(p, n), weight, given(mean, n)});
}

}  // namespace

void fill_updates(Kernels& k) {
  k.sum_of_squares = sum_of_squares;
  k.sum = sum;
  k.sgd = sgd;
  k.adam = adam;
  k.average = average;
}

}  // namespace unroll::inline UNROLL_REAL::cuda
