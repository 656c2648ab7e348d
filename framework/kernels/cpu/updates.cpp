// The optimizers' passes over slabs of weights, and sums over slabs.
#include "framework/kernels/cpu/fill.h"
#include "framework/kernels/cpu/launch.h"

namespace unroll::inline UNROLL_REAL::cpu::inline UNROLL_ISA {
namespace {

double sum_of_squares(const real* x, int64_t n) {
  return reduce(n, [=](int64_t i) {
    const double v = x[i];
    return v * v;
  });
}

double sum(const real* x, int64_t n) {
  return reduce(n, [=](int64_t i) { return static_cast<double>(x[i]); });
}

void sgd(const SgdUpdate& update, real* p, const real* g, real* velocity, int64_t n) {
  const SgdUpdate u = update;
  if (!velocity)
    return each(n, 1, [=](int64_t i) { p[i] -= u.learning_rate * sgd_direction(u, p[i], g[i]); });
  with_flag(u.first, [=](auto first) {
    with_flag(u.nesterov, [=](auto nesterov) {
      SgdUpdate fixed = u;
      fixed.first = first, fixed.nesterov = nesterov;
      each(n, 1, [=](int64_t i) { sgd_with_momentum(fixed, p[i], g[i], velocity[i]); });
    });
  });
}

void adam(const AdamUpdate& update, real* p, const real* g, real* m, real* v, int64_t n) {
  const AdamUpdate u = update;
  const AdamFactors k = adam_factors(u);
  each(n, 2, [=](int64_t i) { adam_step(u, k, p[i], g[i], m[i], v[i]); });
}

void average(const real* p, real weight, real* mean, int64_t n) {
  each(n, 1, [=](int64_t i) { mean[i] += weight * (p[i] - mean[i]); });
}

}  // namespace

void fill_updates(Kernels& k) noexcept {
  k.sum_of_squares = sum_of_squares;
  k.sum = sum;
  k.sgd = sgd;
  k.adam = adam;
  k.average = average;
}

}  // namespace unroll::inline UNROLL_REAL::cpu::inline UNROLL_ISA
