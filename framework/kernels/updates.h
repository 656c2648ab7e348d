// The arguments of optimizers' and steps' kernels, and their arithmetic: of one weight, and of a step's outcome.
#pragma once

#include "framework/kernels/elementary.h"
#include "framework/kernels/kernels.h"

namespace unroll {

// The rules of optimizers, and the moments that each has.
enum class UpdateRule : uint8_t {
  sgd,      // first: the velocity; null: no momentum
  adam,     // first: m; second: v
  rmsprop,  // first: v; second: the buffer; null: no momentum
  lion      // first: m
};
// How one pass of an optimizer changes n parameters p with gradients g, beside what StepOrders say.
struct WeightUpdate {
  UpdateRule rule = UpdateRule::sgd;
  real weight_decay = 0;
  double rate = 1;           // of these parameters: multiplies the learning rate
  RoundedCopy rounded = {};  // of p
  bool nesterov = false;     // sgd
  bool decoupled = false;    // adam: AdamW, whose decay acts on the weights, not through the moments
  real beta2 = 0;            // adam, lion
  real alpha = 0;            // rmsprop
  real eps = 0;              // adam, rmsprop
  const double* corrections = nullptr;  // adam: [2], where the weights are: theirs, in place of the step's
  // sgd without momentum: rows of p by number. g's row k, of `cols` numbers, is of p's row rows[k], and of none below 0.
  const int32_t* rows = nullptr;
  int64_t cols = 0;
};
struct DynamicUpdate {
  real decay = 0, epsilon = 0;
  double rate = 1;  // as above
};

// Values that differ from step to step of training. They are in the memory of the device that computes: the host need
// not wait for a norm, and a recorded step can be asked for again with other numbers.
struct StepOrders {     // by the host, before the step
  double factor = 1;    // multiplies the gradients before anything else
  double max_norm = 0;  // of the gradient then; infinity: measured only; 0: neither
  double learning_rate = 0;
  double momentum = 0;                      // of the velocity; Adam and Lion: beta1
  double correction1 = 1, correction2 = 1;  // Adam: 1 - beta^t
  double average_weight = 0;                // of the new weights in their average; 1: it begins with them
  int32_t first = 0;                        // momentum: the buffer starts as the first gradient
  uint32_t step = 0;                        // its number: masks depend on it
};
struct StepOutcome {                     // by the device
  double squares = 0, loss = 0;          // sums over the step so far
  int32_t finite = 1;                    // whether all losses were
  int32_t go = 1;                        // the present step changes the weights
  double scale = 1;                      // of its gradients: the factor, and clipping
  double norm = 0;                       // of the last step's gradient, before clipping
  double total = 0, interval_total = 0;  // losses of steps that changed the weights
  int32_t failed = 0;                    // a step was not finite; none has changed anything since …
  uint32_t failed_step = 0;              // … the one of this number
};
struct StepValues {
  StepOrders orders;
  StepOutcome outcome;
};

}  // namespace unroll

namespace unroll::pointwise::inline UNROLL_ISA {

// Plain gradient descent:
//   g = scale·gradient + weight_decay·p
struct SgdFactors {
  real scale, learning_rate, momentum, weight_decay;
  bool nesterov, first;
};
UNROLL_FORMULA SgdFactors sgd_factors(const WeightUpdate& u, const StepValues& step) {
  return {static_cast<real>(step.outcome.scale),
          static_cast<real>(step.orders.learning_rate * u.rate),
          static_cast<real>(step.orders.momentum),
          u.weight_decay,
          u.nesterov,
          step.orders.first != 0};
}
UNROLL_FORMULA real sgd_direction(const SgdFactors& u, real p, real gradient) {
  return u.scale * gradient + u.weight_decay * p;
}
//   v = momentum·v + g,  v = g in the first step;  p -= learning_rate·v, with Nesterov ·(g + momentum·v)
UNROLL_FORMULA void sgd_with_momentum(const SgdFactors& u, real& p, real gradient, real& v) {
  const real g = sgd_direction(u, p, gradient);
  v = u.first ? g : u.momentum * v + g;
  p -= u.learning_rate * (u.nesterov ? g + u.momentum * v : v);
}

// Adam (Kingma and Ba 2015), AdamW (Loshchilov and Hutter 2019):
//   g = scale·gradient + weight_decay·p,  or  p -= learning_rate·weight_decay·p
//   m = β₁m + (1-β₁)g    v = β₂v + (1-β₂)g²
//   p -= learning_rate·(m / correction1) / (√(v / correction2) + eps)
struct AdamFactors {
  real scale, l2, shrink, step, root, beta1;  // what is the same for all weights
};
UNROLL_FORMULA AdamFactors adam_factors(const WeightUpdate& u, const StepValues& step) {
  const real learning_rate = static_cast<real>(step.orders.learning_rate * u.rate);
  const double correction1 = u.corrections ? u.corrections[0] : step.orders.correction1,
               correction2 = u.corrections ? u.corrections[1] : step.orders.correction2;
  return {static_cast<real>(step.outcome.scale),
          u.decoupled ? 0 : u.weight_decay,
          u.decoupled ? 1 - learning_rate * u.weight_decay : 1,
          learning_rate / static_cast<real>(correction1),
          1 / sqrt(static_cast<real>(correction2)),
          static_cast<real>(step.orders.momentum)};
}
UNROLL_FORMULA void adam_step(const WeightUpdate& u, const AdamFactors& k, real& p, real gradient, real& m,
                              real& v) {
  const real g = k.scale * gradient + k.l2 * p;
  m += (1 - k.beta1) * (g - m);
  v = u.beta2 * v + (1 - u.beta2) * g * g;
  p = p * k.shrink - k.step * m / (sqrt(v) * k.root + u.eps);
}

// RMSprop (Tieleman and Hinton 2012), as PyTorch has it:
//   g = scale·gradient + weight_decay·p    v = αv + (1-α)g²    d = g / (√v + eps)
//   with momentum b = momentum·b + d,  p -= learning_rate·b;  else p -= learning_rate·d
struct RmspropFactors {
  real scale, step, alpha, eps, weight_decay, momentum;
};
UNROLL_FORMULA RmspropFactors rmsprop_factors(const WeightUpdate& u, const StepValues& step) {
  return {static_cast<real>(step.outcome.scale),
          static_cast<real>(step.orders.learning_rate * u.rate),
          u.alpha,
          u.eps,
          u.weight_decay,
          static_cast<real>(step.orders.momentum)};
}
UNROLL_FORMULA real rmsprop_direction(const RmspropFactors& k, real p, real gradient, real& v) {
  const real g = k.scale * gradient + k.weight_decay * p;
  v = k.alpha * v + (1 - k.alpha) * g * g;
  return g / (sqrt(v) + k.eps);
}

// Lion (Chen et al. 2023):
//   p = (1 - learning_rate·weight_decay)·p - learning_rate·sign(β₁m + (1-β₁)g)    m = β₂m + (1-β₂)g
struct LionFactors {
  real scale, step, shrink, beta1, beta2;
};
UNROLL_FORMULA LionFactors lion_factors(const WeightUpdate& u, const StepValues& step) {
  const real rate = static_cast<real>(step.orders.learning_rate * u.rate);
  return {static_cast<real>(step.outcome.scale), rate, 1 - rate * u.weight_decay,
          static_cast<real>(step.orders.momentum), u.beta2};
}
UNROLL_FORMULA void lion_step(const LionFactors& k, real& p, real gradient, real& m) {
  const real g = k.scale * gradient, direction = k.beta1 * m + (1 - k.beta1) * g;
  p = k.shrink * p - k.step * (direction > 0 ? real(1) : direction < 0 ? real(-1) : direction);
  m = k.beta2 * m + (1 - k.beta2) * g;
}

// Dynamic evaluation (Krause, Kahembwe, Murray and Renals 2018): back towards the weight at the beginning, then along the
// gradient. In two sums, so that a pass may do one of them.
//   p += min(decay·rms, 1)·(start - p)    p -= learning_rate·scale·g / (rms + epsilon)
struct DynamicFactors {
  real decay, epsilon, step;
};
UNROLL_FORMULA DynamicFactors dynamic_factors(const DynamicUpdate& u, const StepValues& step) {
  return {u.decay, u.epsilon, static_cast<real>(step.orders.learning_rate * u.rate * step.outcome.scale)};
}
UNROLL_FORMULA real drawn_back(const DynamicFactors& u, real p, real start, real rms) {
  const real share = u.decay * rms;
  return p + (share < 1 ? share : 1) * (start - p);
}
UNROLL_FORMULA real dynamic_step(const DynamicFactors& u, real p, real gradient, real start, real rms) {
  return drawn_back(u, p, start, rms) - u.step * gradient / (rms + u.epsilon);
}

// Decides about a step, once its losses and its gradient are there (kernels.h).
UNROLL_FORMULA bool is_finite(double x) { return x - x == 0; }
UNROLL_FORMULA void loss_added(StepOutcome& outcome, double mean, double objective, double count,
                               double largest) {
  outcome.loss += mean * count;
  if (!(is_finite(mean) && mean <= largest && is_finite(objective))) outcome.finite = 0;
}
UNROLL_FORMULA void step_decided(StepValues& step) {
  const StepOrders& orders = step.orders;
  StepOutcome& outcome = step.outcome;
  outcome.norm = (orders.factor < 0 ? -orders.factor : orders.factor) * sqrt(outcome.squares);
  const double clipping = orders.max_norm > 0 ? orders.max_norm / (outcome.norm + 1e-6) : 1;
  outcome.scale = orders.factor * (clipping < 1 ? clipping : 1);
  const bool well = outcome.finite && is_finite(outcome.norm);
  if (!well && !outcome.failed) outcome.failed = 1, outcome.failed_step = orders.step;
  outcome.go = outcome.failed ? 0 : 1;
  if (outcome.go) outcome.total += outcome.loss, outcome.interval_total += outcome.loss;
  outcome.loss = outcome.squares = 0;
  outcome.finite = 1;
}

}  // namespace unroll::pointwise::inline UNROLL_ISA
