// The arithmetic of single elements, written once: formulas and their slopes.
#pragma once

#include <cstdint>

#include "framework/kernels/elementary.h"
#include "framework/kernels/kernels.h"

namespace unroll::pointwise::inline UNROLL_ISA {

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
struct Erf {
  UNROLL_FORMULA static real value(real x) { return erf(x); }
  UNROLL_FORMULA static real slope(real x, real) { return real(1.1283791670955126) * exp(-x * x); }  // 2 / √π
};
struct Gelu {  // Φ + x φ
  UNROLL_FORMULA static real share(real x) { return real(0.5) * (1 + erf(x * real(0.70710678118654752))); }
  UNROLL_FORMULA static real value(real x) { return x * share(x); }
  UNROLL_FORMULA static real slope(real x, real) {
    return share(x) + x * real(0.3989422804014327) * exp(real(-0.5) * x * x);  // 1 / √(2π)
  }
};
struct GeluTanh {
  static constexpr real root = real(0.7978845608028654), cubic = real(0.044715);  // √(2/π)
  UNROLL_FORMULA static real bent(real x) { return tanh(root * (x + cubic * x * x * x)); }
  UNROLL_FORMULA static real value(real x) { return real(0.5) * x * (1 + bent(x)); }
  UNROLL_FORMULA static real slope(real x, real) {
    const real t = bent(x);
    return real(0.5) * (1 + t) + real(0.5) * x * (1 - t * t) * root * (1 + 3 * cubic * x * x);
  }
};
struct Silu {
  UNROLL_FORMULA static real value(real x) { return x * sigmoid(x); }
  UNROLL_FORMULA static real slope(real x, real) {
    const real s = sigmoid(x);
    return s * (1 + x * (1 - s));
  }
};
struct Sin {
  UNROLL_FORMULA static real value(real x) { return sin(x); }
  UNROLL_FORMULA static real slope(real x, real) { return cos(x); }
};
struct Cos {
  UNROLL_FORMULA static real value(real x) { return cos(x); }
  UNROLL_FORMULA static real slope(real x, real) { return -sin(x); }
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

// Functors in the order of an enumeration.
template <class... F>
struct Functors {
  static constexpr int count = sizeof...(F);
  // Calls use(F{}) with the functor of that number.
  template <class Use>
  UNROLL_CHOICE static void choose(int number, Use use) {
    int next = 0;
    ((next++ == number ? use(F{}) : void()), ...);
  }
};

using UnaryFunctors = Functors<Exp, Log, Sqrt, Sigmoid, Tanh, Softplus, Erf, Gelu, GeluTanh, Silu, Sin, Cos,
                               Relu, HardSigmoid, HardTanh, Softsign, Abs>;
static_assert(UnaryFunctors::count == static_cast<int>(Unary::abs) + 1);
template <class Use>
UNROLL_CHOICE void with_functor(Unary f, Use use) {
  UnaryFunctors::choose(static_cast<int>(f), use);
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
// The slope for the base is 0 where the exponent is 0, and that for the exponent where the value is 0.
struct Pow {
  UNROLL_FORMULA static real value(real a, real b) { return pow(a, b); }
  UNROLL_FORMULA static real slope_a(real a, real b) { return b == 0 ? real(0) : b * pow(a, b - 1); }
  UNROLL_FORMULA static real slope_b(real a, real b) {
    return a == 0 && b >= 0 ? real(0) : pow(a, b) * log(a);
  }
};
// Comparisons: 1 or 0, without a slope. A NaN is neither less than nor equal to anything.
template <class Holds>
struct Comparison {
  UNROLL_FORMULA static real value(real a, real b) { return Holds::of(a, b) ? real(1) : real(0); }
  UNROLL_FORMULA static real slope_a(real, real) { return 0; }
  UNROLL_FORMULA static real slope_b(real, real) { return 0; }
};
struct Less : Comparison<Less> {
  UNROLL_FORMULA static bool of(real a, real b) { return a < b; }
};
struct LessEqual : Comparison<LessEqual> {
  UNROLL_FORMULA static bool of(real a, real b) { return a <= b; }
};
struct Equal : Comparison<Equal> {
  UNROLL_FORMULA static bool of(real a, real b) { return a == b; }
};
struct NotEqual : Comparison<NotEqual> {
  UNROLL_FORMULA static bool of(real a, real b) { return a != b; }
};

using BinaryFunctors = Functors<Add, Sub, Mul, Div, Max, Min, Pow, Less, LessEqual, Equal, NotEqual>;
static_assert(BinaryFunctors::count == static_cast<int>(Binary::not_equal) + 1);
template <class Use>
UNROLL_CHOICE void with_functor(Binary f, Use use) {
  BinaryFunctors::choose(static_cast<int>(f), use);
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

}  // namespace unroll::pointwise::inline UNROLL_ISA
