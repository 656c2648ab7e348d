// The optimizers' passes over slabs of weights, and sums over slabs.
#include "framework/kernels/updates.h"

#include "framework/kernels/cpu/launch.h"

namespace unroll::cpu::inline UNROLL_ISA {

double sum_of_squares(const real* x, int64_t n) {
  return reduce(n, [=](int64_t i) {
    const double v = x[i];
    return v * v;
  });
}

static void sgd(const WeightUpdate& update, const StepValues& step, real* p, const real* g, real* velocity,
                int64_t n) {
  const SgdFactors u = sgd_factors(update, step);
  if (const int32_t* const rows = update.rows)
    return each_row(n / update.cols, update.cols, 1, [=, cols = update.cols](int64_t k) {
      for (int64_t c = 0; rows[k] >= 0 && c < cols; ++c) {
        real& weight = p[rows[k] * cols + c];
        weight -= u.learning_rate * sgd_direction(u, weight, g[k * cols + c]);
      }
    });
  if (!velocity)
    return each(n, 1, [=](int64_t i) { p[i] -= u.learning_rate * sgd_direction(u, p[i], g[i]); });
  with_flag(u.first, [=](auto first) {
    with_flag(u.nesterov, [=](auto nesterov) {
      SgdFactors fixed = u;
      fixed.first = first, fixed.nesterov = nesterov;
      each(n, 1, [=](int64_t i) { sgd_with_momentum(fixed, p[i], g[i], velocity[i]); });
    });
  });
}

static void rmsprop(const RmspropFactors& factors, real* p, const real* g, real* v, real* buffer, int64_t n) {
  const RmspropFactors k = factors;
  if (!buffer) return each(n, 2, [=](int64_t i) { p[i] -= k.step * rmsprop_direction(k, p[i], g[i], v[i]); });
  each(n, 2, [=](int64_t i) {
    buffer[i] = k.momentum * buffer[i] + rmsprop_direction(k, p[i], g[i], v[i]);
    p[i] -= k.step * buffer[i];
  });
}

void update_weights(const WeightUpdate& update, const StepValues* step, real* p, const real* g, real* first,
                    real* second, int64_t n) {
  if (!step->outcome.go) return;
  const WeightUpdate u = update;
  if (u.rule == UpdateRule::sgd) return sgd(u, *step, p, g, first, n);
  if (u.rule == UpdateRule::rmsprop) return rmsprop(rmsprop_factors(u, *step), p, g, first, second, n);
  if (u.rule == UpdateRule::lion)
    return each(n, 2, [=, k = lion_factors(u, *step)](int64_t i) { lion_step(k, p[i], g[i], first[i]); });
  each(n, 2,
       [=, k = adam_factors(u, *step)](int64_t i) { adam_step(u, k, p[i], g[i], first[i], second[i]); });
}

void dynamic(const DynamicUpdate& update, const StepValues* step, real* p, const real* g, const real* start,
             const real* rms, int64_t n) {
  if (!step->outcome.go) return;
  const DynamicFactors u = dynamic_factors(update, *step);
  if (!g) return each(n, 2, [=](int64_t i) { p[i] = drawn_back(u, p[i], start[i], rms[i]); });
  each(n, 2, [=](int64_t i) { p[i] = dynamic_step(u, p[i], g[i], start[i], rms[i]); });
}

void add_square(const real* x, real* sum, int64_t n) {
  each(n, 1, [=](int64_t i) { sum[i] += x[i] * x[i]; });
}

void average(const StepValues* step, const real* p, real* mean, int64_t n) {
  if (!step->outcome.go) return;
  const real weight = static_cast<real>(step->orders.average_weight);
  if (weight == 1) return each(n, 1, [=](int64_t i) { mean[i] = p[i]; });
  each(n, 1, [=](int64_t i) { mean[i] += weight * (p[i] - mean[i]); });
}

void add_loss(const real* mean, const real* objective, double count, double largest, StepValues* step) {
  loss_added(step->outcome, static_cast<double>(*mean), static_cast<double>(*objective), count, largest);
}
void add_squares(const real* x, int64_t n, StepValues* step) {
  step->outcome.squares += sum_of_squares(x, n);
}
void decide_step(StepValues* step) { step_decided(*step); }
void keep(const StepValues* step, const real* x, real* y, int64_t n) {
  if (!step->outcome.failed) each(n, 1, [=](int64_t i) { y[i] = x[i]; });
}

}  // namespace unroll::cpu::inline UNROLL_ISA
