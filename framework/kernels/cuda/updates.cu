// The optimizers' passes over slabs of weights, and sums over slabs.
#include "framework/device.h"
#include "framework/kernels/cuda/fill.h"
#include "framework/kernels/cuda/launch.h"
#include "framework/kernels/cuda/rounded.h"
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

// Weights whose step may turn out to change nothing.
struct OfStep {
  const StepValues* step;
  UNROLL_KERNEL bool acts() const { return step->outcome.go; }
};

// A step whose weights are put down rounded, too.
template <class F>
struct RoundedWeight {
  F f;
  template <class... Numbers>
  UNROLL_KERNEL void operator()(real& rounded, real& p, Numbers&... numbers) const {
    f(p, numbers...);
    rounded = p;
  }
};
template <class F>
struct RoundedStep : OfStep {
  F f;
  UNROLL_KERNEL auto for_thread() const { return RoundedWeight{f.for_thread()}; }
};
template <class F, class... Streams>
void each_weight(int64_t n, const F& f, const RoundedCopy& rounded, Streams... streams) {
  if (rounded.data)
    each(n, RoundedStep<F>{{f.step}, f}, write_rounded(rounded, n), streams...);
  else
    each(n, f, streams...);
}

// Rows of weights by number, which no two rows of a gradient have; none below 0.
template <class Rows>
struct RowsByNumber : Rows {
  const int32_t* numbers;
  Divisor cols;
  bool in_pieces() const { return Rows::in_pieces() && cols.is_multiple_of_4(); }
  UNROLL_KERNEL int64_t place(int64_t i) const {
    const int64_t k = cols.quotient(i);
    return numbers[k] * cols.by() + (i - k * cols.by());  // below 0, if the row is
  }
  template <int width>
  UNROLL_KERNEL Piece<real, width> load(int64_t i) const {
    const int64_t at = place(i);
    if (at >= 0) return Rows::template load<width>(at);
    return {};
  }
  template <int width>
  UNROLL_KERNEL void store(int64_t i, const Piece<real, width>& piece) const {
    if (const int64_t at = place(i); at >= 0) Rows::store(at, piece);
  }
};

struct SgdWeight {
  SgdFactors u;
  UNROLL_KERNEL void operator()(real& p, real g) const { p -= u.learning_rate * sgd_direction(u, p, g); }
  UNROLL_KERNEL void operator()(real& p, real g, real& velocity) const {
    sgd_with_momentum(u, p, g, velocity);
  }
};
struct SgdStep : OfStep {
  WeightUpdate update;
  UNROLL_KERNEL auto for_thread() const { return SgdWeight{sgd_factors(update, *step)}; }
};
void sgd(const WeightUpdate& u, const StepValues* step, real* p, const real* g, real* velocity, int64_t n) {
  const SgdStep f{{given(step, 1)}, u};
  if (u.rows) {
    const Divisor cols(u.cols);
    given(u.rows, n / u.cols), changed(p, 1, n), given(static_cast<uint16_t*>(u.rounded.data), 1, n);
    const RowsByNumber<Written<real>> rows{{p, true}, u.rows, cols};
    if (u.rounded.data)
      each(n, RoundedStep<SgdStep>{{step}, f}, RowsByNumber<Rounded>{{u.rounded}, u.rows, cols}, rows,
           read(g, n));
    else
      each(n, f, rows, read(g, n));
  } else if (velocity) {
    each_weight(n, f, u.rounded, change(p, n), read(g, n), change(velocity, n));
  } else {
    each_weight(n, f, u.rounded, change(p, n), read(g, n));
  }
}

struct AdamWeight {
  WeightUpdate u;
  AdamFactors k;
  UNROLL_KERNEL void operator()(real& p, real g, real& m, real& v) const { adam_step(u, k, p, g, m, v); }
};
struct AdamStep : OfStep {
  WeightUpdate u;
  UNROLL_KERNEL auto for_thread() const { return AdamWeight{u, adam_factors(u, *step)}; }
};
struct RmspropWeight {
  RmspropFactors k;
  UNROLL_KERNEL void operator()(real& p, real g, real& v) const {
    p -= k.step * rmsprop_direction(k, p, g, v);
  }
  UNROLL_KERNEL void operator()(real& p, real g, real& v, real& buffer) const {
    const real d = buffer = k.momentum * buffer + rmsprop_direction(k, p, g, v);
    p -= k.step * d;
  }
};
struct RmspropStep : OfStep {
  WeightUpdate u;
  UNROLL_KERNEL auto for_thread() const { return RmspropWeight{rmsprop_factors(u, *step)}; }
};
struct LionWeight {
  LionFactors k;
  UNROLL_KERNEL void operator()(real& p, real g, real& m) const { lion_step(k, p, g, m); }
};
struct LionStep : OfStep {
  WeightUpdate u;
  UNROLL_KERNEL auto for_thread() const { return LionWeight{lion_factors(u, *step)}; }
};
void update_weights(const WeightUpdate& u, const StepValues* step, real* p, const real* g, real* first,
                    real* second, int64_t n) {
  if (u.rule == UpdateRule::sgd) return sgd(u, step, p, g, first, n);
  const OfStep of{given(step, 1)};
  const auto weights = [&](const auto& f, const auto&... moments) {
    each_weight(n, f, u.rounded, change(p, n), read(g, n), moments...);
  };
  if (u.rule == UpdateRule::adam) return weights(AdamStep{of, u}, change(first, n), change(second, n));
  if (u.rule == UpdateRule::lion) return weights(LionStep{of, u}, change(first, n));
  if (second) return weights(RmspropStep{of, u}, change(first, n), change(second, n));
  weights(RmspropStep{of, u}, change(first, n));
}

struct DynamicWeight {
  DynamicFactors u;
  UNROLL_KERNEL void operator()(real& p, real start, real rms) const { p = drawn_back(u, p, start, rms); }
  UNROLL_KERNEL void operator()(real& p, real start, real rms, real g) const {
    p = dynamic_step(u, p, g, start, rms);
  }
};
struct DynamicStep : OfStep {
  DynamicUpdate u;
  UNROLL_KERNEL auto for_thread() const { return DynamicWeight{dynamic_factors(u, *step)}; }
};
void dynamic(const DynamicUpdate& u, const StepValues* step, real* p, const real* g, const real* start,
             const real* rms, int64_t n) {
  const DynamicStep f{{given(step, 1)}, u};
  if (g)
    each(n, f, change(p, n), read(start, n), read(rms, n), read(g, n));
  else
    each(n, f, change(p, n), read(start, n), read(rms, n));
}

struct AddSquare {
  UNROLL_KERNEL void operator()(real x, real& sum) const { sum += x * x; }
};
void add_square(const real* x, real* sum, int64_t n) { each(n, AddSquare{}, read(x, n), change(sum, n)); }

struct AverageWeight {
  real weight;
  UNROLL_KERNEL void operator()(real p, real& mean) const {
    mean = weight == 1 ? p : mean + weight * (p - mean);
  }
};
struct Average : OfStep {
  UNROLL_KERNEL auto for_thread() const {
    return AverageWeight{static_cast<real>(step->orders.average_weight)};
  }
};
void average(const StepValues* step, const real* p, real* mean, int64_t n) {
  each(n, Average{{given(step, 1)}}, read(p, n), change(mean, n));
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
  each_index(1, AddLoss{given(mean, 1), given(objective, 1), count, largest, changed(step, 1)});
}

struct AddSum {
  const double* sum;
  StepValues* step;
  UNROLL_KERNEL void operator()(int64_t) const { step->outcome.squares += *sum; }
};
void add_squares(const real* x, int64_t n, StepValues* step) {
  double* sum = gpu::sum_of_reduction();
  reduce(n, Square{given(x, n)}, sum);
  each_index(1, AddSum{sum, changed(step, 1)});
}

struct DecideStep {
  StepValues* step;
  UNROLL_KERNEL void operator()(int64_t) const { step_decided(*step); }
};
void decide_step(StepValues* step) { each_index(1, DecideStep{changed(step, 1)}); }

struct Keep {
  const StepValues* step;
  UNROLL_KERNEL bool acts() const { return !step->outcome.failed; }
  UNROLL_KERNEL void operator()(real x, real& y) const { y = x; }
};
void keep(const StepValues* step, const real* x, real* y, int64_t n) {
  each(n, Keep{given(step, 1)}, read(x, n), write(y, n));
}

}  // namespace

void fill_updates(Kernels& k) {
  k.sum_of_squares = sum_of_squares;
  k.update_weights = update_weights;
  k.dynamic = dynamic;
  k.add_square = add_square;
  k.average = average;
  k.add_loss = add_loss;
  k.add_squares = add_squares;
  k.decide_step = decide_step;
  k.keep = keep;
}

}  // namespace unroll::cuda
