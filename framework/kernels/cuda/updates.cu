// The optimizers' passes over slabs of weights, and sums over slabs.
#include "framework/device.h"
#include "framework/kernels/cuda/fill.h"
#include "framework/kernels/cuda/launch.h"
#include "framework/kernels/updates.h"

namespace unroll::cuda {
namespace {

struct Square {
  const real* x;
  UNROLL_KERNEL double operator()(int64_t i) const {
    const double v = x[i];
    return v * v;
  }
};
double sum_of_squares(const real* x, int64_t n) {
  double* sum = gpu::sum_of_reduction();
  reduce(n, Square{given(x, n)}, sum);
  double result = 0;
  copy_to_host(&result, sum, sizeof result);
  return result;
}

struct SgdStep {
  SgdUpdate update;
  const StepValues* step;
  real* p;
  const real* g;
  real* velocity;
  UNROLL_KERNEL void operator()(int64_t i) const {
    if (!step->outcome.go) return;
    const SgdFactors u = sgd_factors(update, *step);
    if (velocity)
      sgd_with_momentum(u, p[i], g[i], velocity[i]);
    else
      p[i] -= u.learning_rate * sgd_direction(u, p[i], g[i]);
  }
};
void sgd(const SgdUpdate& u, const StepValues* step, real* p, const real* g, real* velocity, int64_t n) {
  each(n, SgdStep{u, given(step, 1), given(p, n), given(g, n), given(velocity, n)});
}

struct AdamStep {
  AdamUpdate u;
  const StepValues* step;
  real* p;
  const real* g;
  real *m, *v;
  UNROLL_KERNEL void operator()(int64_t i) const {
    if (step->outcome.go) adam_step(u, adam_factors(u, *step), p[i], g[i], m[i], v[i]);
  }
};
void adam(const AdamUpdate& u, const StepValues* step, real* p, const real* g, real* m, real* v, int64_t n) {
  each(n, AdamStep{u, given(step, 1), given(p, n), given(g, n), given(m, n), given(v, n)});
}

struct RmspropStep {
  RmspropUpdate u;
  const StepValues* step;
  real* p;
  const real* g;
  real *v, *buffer;
  UNROLL_KERNEL void operator()(int64_t i) const {
    if (!step->outcome.go) return;
    const RmspropFactors k = rmsprop_factors(u, *step);
    real d = rmsprop_direction(k, p[i], g[i], v[i]);
    if (buffer) d = buffer[i] = k.momentum * buffer[i] + d;
    p[i] -= k.step * d;
  }
};
void rmsprop(const RmspropUpdate& u, const StepValues* step, real* p, const real* g, real* v, real* buffer,
             int64_t n) {
  each(n, RmspropStep{u, given(step, 1), given(p, n), given(g, n), given(v, n), given(buffer, n)});
}

struct LionStep {
  LionUpdate u;
  const StepValues* step;
  real* p;
  const real* g;
  real* m;
  UNROLL_KERNEL void operator()(int64_t i) const {
    if (step->outcome.go) lion_step(lion_factors(u, *step), p[i], g[i], m[i]);
  }
};
void lion(const LionUpdate& u, const StepValues* step, real* p, const real* g, real* m, int64_t n) {
  each(n, LionStep{u, given(step, 1), given(p, n), given(g, n), given(m, n)});
}

struct DynamicStep {
  DynamicUpdate update;
  const StepValues* step;
  real* p;
  const real *g, *start, *rms;
  UNROLL_KERNEL void operator()(int64_t i) const {
    if (!step->outcome.go) return;
    const DynamicFactors u = dynamic_factors(update, *step);
    p[i] = g ? dynamic_step(u, p[i], g[i], start[i], rms[i]) : drawn_back(u, p[i], start[i], rms[i]);
  }
};
void dynamic(const DynamicUpdate& u, const StepValues* step, real* p, const real* g, const real* start,
             const real* rms, int64_t n) {
  each(n, DynamicStep{u, given(step, 1), given(p, n), given(g, n), given(start, n), given(rms, n)});
}

struct AddSquare {
  const real* x;
  real* sum;
  UNROLL_KERNEL void operator()(int64_t i) const { sum[i] += x[i] * x[i]; }
};
void add_square(const real* x, real* sum, int64_t n) { each(n, AddSquare{given(x, n), given(sum, n)}); }

struct Average {
  const StepValues* step;
  const real* p;
  real* mean;
  UNROLL_KERNEL void operator()(int64_t i) const {
    if (!step->outcome.go) return;
    const real weight = static_cast<real>(step->orders.average_weight);
    mean[i] = weight == 1 ? p[i] : mean[i] + weight * (p[i] - mean[i]);
  }
};
void average(const StepValues* step, const real* p, real* mean, int64_t n) {
  each(n, Average{given(step, 1), given(p, n), given(mean, n)});
}

struct AddLoss {
  const real *mean, *objective;
  double count, largest;
  StepValues* step;
  UNROLL_KERNEL void operator()(int64_t) const {
    loss_added(step->outcome, *mean, *objective, count, largest);
  }
};
void add_loss(const real* mean, const real* objective, double count, double largest, StepValues* step) {
  each(1, AddLoss{given(mean, 1), given(objective, 1), count, largest, given(step, 1)});
}

struct AddSum {
  const double* sum;
  StepValues* step;
  UNROLL_KERNEL void operator()(int64_t) const { step->outcome.squares += *sum; }
};
void add_squares(const real* x, int64_t n, StepValues* step) {
  double* sum = gpu::sum_of_reduction();
  reduce(n, Square{given(x, n)}, sum);
  each(1, AddSum{sum, given(step, 1)});
}

struct DecideStep {
  StepValues* step;
  UNROLL_KERNEL void operator()(int64_t) const { step_decided(*step); }
};
void decide_step(StepValues* step) { each(1, DecideStep{given(step, 1)}); }

struct Keep {
  const StepValues* step;
  const real* x;
  real* y;
  UNROLL_KERNEL void operator()(int64_t i) const {
    if (!step->outcome.failed) y[i] = x[i];
  }
};
void keep(const StepValues* step, const real* x, real* y, int64_t n) {
  each(n, Keep{given(step, 1), given(x, n), given(y, n)});
}

}  // namespace

void fill_updates(Kernels& k) {
  k.sum_of_squares = sum_of_squares;
  k.sgd = sgd;
  k.adam = adam;
  k.rmsprop = rmsprop;
  k.lion = lion;
  k.dynamic = dynamic;
  k.add_square = add_square;
  k.average = average;
  k.add_loss = add_loss;
  k.add_squares = add_squares;
  k.decide_step = decide_step;
  k.keep = keep;
}

}  // namespace unroll::cuda
