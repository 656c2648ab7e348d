// The arithmetic of single elements, written once: formulas and their slopes.
//
// Back ends put them behind their own launch helpers, and compile them for several instruction sets, so
// everything here is inlined without exception and lives in the inline namespace UNROLL_ISA: no copy of a
// function may be shared by files compiled for different machines.
#pragma once

#include <cmath>
#include <cstdint>

#include "framework/kernels/kernels.h"

#ifndef UNROLL_ISA
#define UNROLL_ISA portable
#endif
#ifdef __CUDACC__
#define UNROLL_FORMULA __host__ __device__ __forceinline__
#define UNROLL_CHOICE __forceinline__  // on the host: what is chosen is a kernel
#else
#define UNROLL_FORMULA [[gnu::always_inline]] inline
#define UNROLL_CHOICE UNROLL_FORMULA
#endif

namespace unroll::pointwise::inline UNROLL_ISA {

// --- exp, log, tanh and relatives ----------------------------------------------------------------
// In float: free of branches, so that loops over arrays turn into vector instructions, and right for
// infinities, NaN and denormal numbers. Coefficients are minimax fits (Remez exchange). Errors are in units
// of the last place, the largest over every 19th float. In double: the C library's.

UNROLL_FORMULA uint32_t bits_of(float x) { return __builtin_bit_cast(uint32_t, x); }
UNROLL_FORMULA float from_bits(uint32_t bits) { return __builtin_bit_cast(float, bits); }
UNROLL_FORMULA float magnitude(float x) { return from_bits(bits_of(x) & 0x7fffffff); }

// x = n ln 2 + r,  |r| ≤ ln 2 / 2
struct Reduced {
  uint32_t low_bits;  // n + 127 in the last bits, that is the exponent of 2^n
  float r;
};
UNROLL_FORMULA Reduced reduce_by_ln2(float x) {
  constexpr float round = 12582912.0f + 127.0f;  // adding 1.5 · 2^23 leaves an integer in the last bits
  const float shifted = x * 1.44269504f + round;
  const float n = shifted - round;
  return {bits_of(shifted), (x - n * 0.693359375f) + n * 2.12194440e-4f};
}
UNROLL_FORMULA float power_of_two(Reduced a) { return from_bits(a.low_bits << 23); }  // -126 ≤ n ≤ 127
// (e^r - 1 - r) / r² for |r| ≤ ln 2 / 2
UNROLL_FORMULA float exp_tail(float r) {
  float q = 0.0013814540579915047f;
  q = q * r + 0.00836874544620514f;
  q = q * r + 0.04166838899254799f;
  q = q * r + 0.1666652113199234f;
  return q * r + 0.4999999403953552f;
}

// e^x = 2^n e^r.  Error below 1.2.
UNROLL_FORMULA float exp(float x) {
  x = x > 89.0f ? 89.0f : x;      // infinite from there on
  x = x < -104.0f ? -104.0f : x;  // zero
  const Reduced a = reduce_by_ln2(x);
  const float power = (exp_tail(a.r) * a.r + 1.0f) * a.r + 1.0f;
  const int32_t n = static_cast<int32_t>(a.low_bits - bits_of(12582912.0f)) - 127;
  const int32_t half = n >> 1;  // 2^n in two factors, for results near either end of the range
  return power * from_bits(static_cast<uint32_t>(half + 127) << 23) *
         from_bits(static_cast<uint32_t>(n - half + 127) << 23);
}

// e^x for x ≤ 0, cheaper; results below 2^-126 are zero.
UNROLL_FORMULA float exp_of_negative(float x) {
  const Reduced a = reduce_by_ln2(x);
  const float power = (exp_tail(a.r) * a.r + 1.0f) * a.r + 1.0f;
  return x < -87.33654f ? 0.0f : power * power_of_two(a);
}

// log x = n ln 2 + log m,  x = 2^n m,  √½ ≤ m < √2.  Error below 1.2.
UNROLL_FORMULA float log(float x) {
  const bool denormal = x < 0x1p-126f;
  const uint32_t root_half = 0x3f3504f3;
  const uint32_t i = bits_of(denormal ? x * 0x1p23f : x) - root_half;
  const float n = static_cast<float>((static_cast<int32_t>(i) >> 23) - (denormal ? 23 : 0));
  const float f = from_bits((i & 0x7fffff) + root_half) - 1.0f;
  float q = 0.08700448274612427f;
  q = q * f - 0.14267490804195404f;
  q = q * f + 0.1491476446390152f;
  q = q * f - 0.1657758355140686f;
  q = q * f + 0.19963063299655914f;
  q = q * f - 0.2500133812427521f;
  q = q * f + 0.3333390951156616f;
  const float z = f * f;
  const float small = z * f * q - n * 2.12194440e-4f - 0.5f * z;
  const float y = (f + small) + n * 0.693359375f;
  const float edge = x == 0.0f ? -__builtin_inff() : __builtin_nanf("");
  return x > 0.0f ? (x < __builtin_inff() ? y : x) : edge;
}

// tanh |x| = u / (u + 2),  u = e^2|x| - 1 = 2^n (e^r - 1) + (2^n - 1).  Error below 2.7.
UNROLL_FORMULA float tanh(float x) {
  float twice = 2.0f * magnitude(x);
  twice = twice > 30.0f ? 30.0f : twice;  // 1 from there on
  const Reduced a = reduce_by_ln2(twice);
  const float power = power_of_two(a);
  const float u = power * (exp_tail(a.r) * a.r * a.r + a.r) + (power - 1.0f);
  return from_bits(bits_of(u / (u + 2.0f)) | (bits_of(x) & 0x80000000));
}

// σ(x) = 1 / (1 + e^-x), and e^x / (1 + e^x) for negative x; results below 2^-126 are zero.  Error below 2.9.
UNROLL_FORMULA float sigmoid(float x) {
  const float e = exp_of_negative(-magnitude(x));
  const float y = 1.0f / (1.0f + e);
  return x < 0.0f ? e * y : y;
}

// log(1 + x) = 2 artanh s,  s = x / (2 + x), for 0 ≤ x ≤ 1.  Error below 2.
UNROLL_FORMULA float log_of_one_plus(float x) {
  const float s = x / (2.0f + x), z = s * s;
  float q = 0.2801198959350586f;
  q = q * z + 0.28001806139945984f;
  q = q * z + 0.4002152681350708f;
  q = q * z + 0.666664183139801f;
  return s * z * q + 2.0f * s;
}

UNROLL_FORMULA float sqrt(float x) { return ::sqrtf(x); }

UNROLL_FORMULA double magnitude(double x) { return ::fabs(x); }
UNROLL_FORMULA double exp(double x) { return ::exp(x); }
UNROLL_FORMULA double exp_of_negative(double x) { return ::exp(x); }
UNROLL_FORMULA double log(double x) { return ::log(x); }
UNROLL_FORMULA double tanh(double x) { return ::tanh(x); }
UNROLL_FORMULA double sqrt(double x) { return ::sqrt(x); }
UNROLL_FORMULA double sigmoid(double x) {
  const double e = ::exp(-magnitude(x));
  return (x >= 0.0 ? 1.0 : e) / (1.0 + e);
}
UNROLL_FORMULA double log_of_one_plus(double x) { return ::log1p(x); }

// --- functions of one element: value(x), and slope(x, y) where y is the value --------------------

struct Exp {
  UNROLL_FORMULA static real value(real x) { return exp(x); }
  UNROLL_FORMULA static real slope(real, real y) { return y; }
};
struct Log {
  UNROLL_FORMULA static real value(real x) { return log(x); }
  UNROLL_FORMULA static real slope(real x, real) { return 1 / x; }
};
struct Sqrt {
  UNROLL_FORMULA static real value(real x) { return sqrt(x); }
  UNROLL_FORMULA static real slope(real, real y) { return real(0.5) / y; }
};
struct Sigmoid {
  UNROLL_FORMULA static real value(real x) { return sigmoid(x); }
  UNROLL_FORMULA static real slope(real, real y) { return y * (1 - y); }
};
struct Tanh {
  UNROLL_FORMULA static real value(real x) { return tanh(x); }
  UNROLL_FORMULA static real slope(real, real y) { return 1 - y * y; }
};
struct Softplus {
  UNROLL_FORMULA static real value(real x) {
    return (x < 0 ? 0 : x) + log_of_one_plus(exp_of_negative(-magnitude(x)));
  }
  UNROLL_FORMULA static real slope(real x, real) { return sigmoid(x); }
};
struct Relu {
  UNROLL_FORMULA static real value(real x) { return x < 0 ? 0 : x; }  // NaN stays
  UNROLL_FORMULA static real slope(real, real y) { return y > 0 ? real(1) : real(0); }
};
struct HardSigmoid {  // the line x/6 + 1/2 between 0 and 1
  UNROLL_FORMULA static real value(real x) { return x < -3 ? 0 : x > 3 ? 1 : x / 6 + real(0.5); }
  UNROLL_FORMULA static real slope(real, real y) { return y > 0 && y < 1 ? real(1) / 6 : real(0); }
};
struct HardTanh {  // x between -1 and 1
  UNROLL_FORMULA static real value(real x) { return x < -1 ? -1 : x > 1 ? 1 : x; }
  UNROLL_FORMULA static real slope(real, real y) { return y > -1 && y < 1 ? real(1) : real(0); }
};
struct Softsign {  // x / (1 + |x|)
  UNROLL_FORMULA static real value(real x) { return x / (1 + magnitude(x)); }
  UNROLL_FORMULA static real slope(real, real y) { return (1 - magnitude(y)) * (1 - magnitude(y)); }
};

struct Abs {
  UNROLL_FORMULA static real value(real x) { return magnitude(x); }
  UNROLL_FORMULA static real slope(real x, real) { return x > 0 ? real(1) : x < 0 ? real(-1) : real(0); }
};

// Calls use(F{}) with the functor of f.
template <class Use>
UNROLL_CHOICE void with_functor(Unary f, Use use) {
  switch (f) {
    case Unary::exp:
      return use(Exp{});
    case Unary::log:
      return use(Log{});
    case Unary::sqrt:
      return use(Sqrt{});
    case Unary::sigmoid:
      return use(Sigmoid{});
    case Unary::tanh:
      return use(Tanh{});
    case Unary::softplus:
      return use(Softplus{});
    case Unary::relu:
      return use(Relu{});
    case Unary::hard_sigmoid:
      return use(HardSigmoid{});
    case Unary::hard_tanh:
      return use(HardTanh{});
    case Unary::softsign:
      return use(Softsign{});
    case Unary::abs:
      return use(Abs{});
  }
}

// --- functions of two elements, with the slope for each ------------------------------------------

struct Add {
  UNROLL_FORMULA static real value(real a, real b) { return a + b; }
  UNROLL_FORMULA static real slope_a(real, real) { return 1; }
  UNROLL_FORMULA static real slope_b(real, real) { return 1; }
};
struct Sub {
  UNROLL_FORMULA static real value(real a, real b) { return a - b; }
  UNROLL_FORMULA static real slope_a(real, real) { return 1; }
  UNROLL_FORMULA static real slope_b(real, real) { return -1; }
};
struct Mul {
  UNROLL_FORMULA static real value(real a, real b) { return a * b; }
  UNROLL_FORMULA static real slope_a(real, real b) { return b; }
  UNROLL_FORMULA static real slope_b(real a, real) { return a; }
};
struct Div {
  UNROLL_FORMULA static real value(real a, real b) { return a / b; }
  UNROLL_FORMULA static real slope_a(real, real b) { return 1 / b; }
  UNROLL_FORMULA static real slope_b(real a, real b) { return -a / (b * b); }
};
// Equals have half of the gradient each; a NaN stays.
struct Max {
  UNROLL_FORMULA static real value(real a, real b) { return a > b || a != a ? a : b; }
  UNROLL_FORMULA static real slope_a(real a, real b) { return a > b ? real(1) : a < b ? real(0) : real(0.5); }
  UNROLL_FORMULA static real slope_b(real a, real b) { return slope_a(b, a); }
};
struct Min {
  UNROLL_FORMULA static real value(real a, real b) { return a < b || a != a ? a : b; }
  UNROLL_FORMULA static real slope_a(real a, real b) { return Max::slope_a(b, a); }
  UNROLL_FORMULA static real slope_b(real a, real b) { return Max::slope_a(a, b); }
};

template <class Use>
UNROLL_CHOICE void with_functor(Binary f, Use use) {
  switch (f) {
    case Binary::add:
      return use(Add{});
    case Binary::sub:
      return use(Sub{});
    case Binary::mul:
      return use(Mul{});
    case Binary::div:
      return use(Div{});
    case Binary::max:
      return use(Max{});
    case Binary::min:
      return use(Min{});
  }
}

// --- a gate that scales: y = 2σ(a)·x ----------------------------------------------------------------

// a becomes σ(a).
UNROLL_FORMULA real gated(real& a, real x) {
  a = sigmoid(a);
  return 2 * a * x;
}
//   da = dy·2x·σ'(a)    dx = dy·2σ(a)
// s = σ(a) receives da, and d = dy becomes dx.
UNROLL_FORMULA void gated_gradient(real& s, real x, real& d) {
  const real gate = s, dy = d;
  s = dy * 2 * x * Sigmoid::slope(0, gate);
  d = dy * 2 * gate;
}

// --- one unit of an LSTM cell --------------------------------------------------------------------

// F is the function of the gates i f o, G that of g and c. Their slopes are taken from their values alone: what the
// gates were before is gone.

// The functions that a cell may have.
template <class Use>
UNROLL_CHOICE void with_gate_function(Unary f, Use use) {
  if (f == Unary::hard_sigmoid) return use(HardSigmoid{});
  use(Sigmoid{});
}
template <class Use>
UNROLL_CHOICE void with_cell_function(Unary f, Use use) {
  if (f == Unary::relu) return use(Relu{});
  if (f == Unary::hard_tanh) return use(HardTanh{});
  if (f == Unary::softsign) return use(Softsign{});
  use(Tanh{});
}

//   c = f·c_prev + i·g,  after i f o = F and g = G of the gates
UNROLL_FORMULA real lstm_state(real i, real f, real g, real c_prev) { return f * c_prev + i * g; }

//   h = o·G(c):  dc = dh·o·G'(c)    do = dh·G(c)·F'(o)
// Here and below, activated gates receive the gradients of what they were before that.
template <class F, class G>
UNROLL_FORMULA real lstm_output_gradient(real& o, real c, real dh) {
  const real t = G::value(c), output = o;
  o = dh * t * F::slope(0, output);
  return dh * output * G::slope(0, t);
}

//   di = dc·g·F'(i)    df = dc·c_prev·F'(f)    dg = dc·i·G'(g)    dc_prev = dc·f
template <class F, class G>
UNROLL_FORMULA void lstm_state_gradient(real& i, real& f, real& g, real c_prev, real& d) {
  const real input = i, forget = f, candidate = g, dc = d;
  i = dc * candidate * F::slope(0, input);
  f = dc * c_prev * F::slope(0, forget);
  g = dc * input * G::slope(0, candidate);
  d = dc * forget;
}

//   With coupled gates, i = 1-f:  df = dc·(c_prev-g)·F'(f)    dg = dc·(1-f)·G'(g)    dc_prev = dc·f
template <class F, class G>
UNROLL_FORMULA void lstm_coupled_gradient(real& f, real& g, real c_prev, real& d) {
  const real forget = f, candidate = g, dc = d;
  f = dc * (c_prev - candidate) * F::slope(0, forget);
  g = dc * (1 - forget) * G::slope(0, candidate);
  d = dc * forget;
}

// --- one unit of a GRU cell, after r z = σ and n = tanh(a + r·q) ------------------------------------

//   dn = dh·(1-z)·(1-n²)    dz = dh·(h_prev-n)·z(1-z)    dr = dn·q·r(1-r)    dq = dn·r    kept = dh·z
// r z n receive the gradients of their sums, q its own.
UNROLL_FORMULA void gru_unit_gradient(real& r, real& z, real& n, real& q, real h_prev, real dh, real& kept) {
  const real reset = r, update = z, candidate = n;
  n = dh * (1 - update) * (1 - candidate * candidate);
  z = dh * (h_prev - candidate) * (update * (1 - update));
  r = n * q * (reset * (1 - reset));
  q = n * reset;
  kept = dh * update;
}

// --- losses --------------------------------------------------------------------------------------

// y = pos_weight·t·softplus(-x) + (1-t)·softplus(x);  softplus(-x) = softplus(x) - x
UNROLL_FORMULA real binary_cross_entropy(real x, real t, real pos_weight) {
  const real e = log_of_one_plus(exp_of_negative(-magnitude(x)));
  return pos_weight * t * ((x < 0 ? -x : 0) + e) + (1 - t) * ((x < 0 ? 0 : x) + e);
}
// dy/dx = (1-t)·σ(x) - pos_weight·t·σ(-x)
UNROLL_FORMULA real binary_cross_entropy_slope(real x, real t, real pos_weight) {
  const real e = exp_of_negative(-magnitude(x));
  const real large = 1 / (1 + e), small = e / (1 + e);
  return x < 0 ? (1 - t) * small - pos_weight * t * large : (1 - t) * large - pos_weight * t * small;
}

// --- optimizers: one weight ----------------------------------------------------------------------

//   g = scale·gradient + weight_decay·p
struct SgdFactors {
  real scale, learning_rate, momentum, weight_decay;
  bool nesterov, first;
};
UNROLL_FORMULA SgdFactors sgd_factors(const SgdUpdate& u, const StepValues& step) {
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
UNROLL_FORMULA AdamFactors adam_factors(const AdamUpdate& u, const StepValues& step) {
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
UNROLL_FORMULA void adam_step(const AdamUpdate& u, const AdamFactors& k, real& p, real gradient, real& m,
                              real& v) {
  const real g = k.scale * gradient + k.l2 * p;
  m += (1 - k.beta1) * (g - m);
  v = u.beta2 * v + (1 - u.beta2) * g * g;
  p = p * k.shrink - k.step * m / (sqrt(v) * k.root + u.eps);
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
