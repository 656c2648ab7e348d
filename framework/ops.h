// The operations. Each is one function in ops*.cpp: the equation, the values, and the gradient under them.
//
// Shapes are row-major; "rows of x" means all dimensions but the last taken together. Every function throws Error
// naming itself and both shapes if they do not fit.
#pragma once

#include <concepts>
#include <initializer_list>
#include <vector>

#include "framework/random.h"
#include "framework/tape.h"
#include "framework/unary.h"

namespace unroll {

// --- products ---------------------------------------------------------------------------------------------------
// a [..., k], b [k, n] -> [..., n]; or matrices in pairs: a [..., m, k], b [..., k, n] -> [..., m, n]. The dimensions
// before, counted from the last, have equal extents. If one is 1 or missing, that operand's matrices are repeated.
Var matmul(const Var& a, const Var& b);
Var linear(const Var& x, const Var& w, const Var& b);  // x [..., in], w [out, in], b [out] -> x wᵀ + b
Var linear(const Var& x, const Var& w);                // without bias

// w's numbers as a GPU's products take them (matrix.h). Those of a parameter are rounded once, until they change.
RoundedTensor rounded(const Var& w);

// --- elements -----------------------------------------------------------------------------------------------------
// add, sub, mul, div, maximum, minimum: extents are equal, counted from the last; where one is 1 or missing, it is repeated.
Var add(const Var& a, const Var& b);
Var sub(const Var& a, const Var& b);
Var mul(const Var& a, const Var& b);
Var div(const Var& a, const Var& b);
Var maximum(const Var& a, const Var& b);  // of equals, each has half of the gradient
Var minimum(const Var& a, const Var& b);
Var scale(const Var& x, real factor);                                    // x · factor
Var shift(const Var& x, real constant);                                  // x + constant
Var unary(Unary f, const Var& x);                                        // any of unary.h
inline Var exp(const Var& x) { return unary(Unary::exp, x); }            // e^x
inline Var log(const Var& x) { return unary(Unary::log, x); }            // natural
inline Var sqrt(const Var& x) { return unary(Unary::sqrt, x); }          // √x
inline Var sigmoid(const Var& x) { return unary(Unary::sigmoid, x); }    // 1 / (1 + e^-x)
inline Var tanh(const Var& x) { return unary(Unary::tanh, x); }          // between -1 and 1
inline Var softplus(const Var& x) { return unary(Unary::softplus, x); }  // log(1 + e^x)
inline Var relu(const Var& x) { return unary(Unary::relu, x); }          // x, or 0 where it is below
inline Var abs(const Var& x) { return unary(Unary::abs, x); }            // |x|, of slope 0 at 0
inline Var erf(const Var& x) { return unary(Unary::erf, x); }            // 2/√π ∫ e^-t² dt from 0 to x
inline Var gelu(const Var& x) {
  return unary(Unary::gelu, x);
}  // x Φ(x), Φ the normal distribution (Hendrycks and Gimpel 2016)
inline Var gelu_tanh(const Var& x) {
  return unary(Unary::gelu_tanh, x);
}  // the same by way of tanh: PyTorch's approximate="tanh"
inline Var silu(const Var& x) { return unary(Unary::silu, x); }  // x σ(x)
inline Var sin(const Var& x) { return unary(Unary::sin, x); }    // of radians
inline Var cos(const Var& x) { return unary(Unary::cos, x); }    // of radians
Var pow(const Var& base, const Var& exponent);                   // base^exponent, repeated as add
Var pow(const Var& x, real exponent);
Var clamp(const Var& x, real low, real high);  // between both; the gradient of what lies outside is 0
inline const char* name_of(Unary f) { return unary_names[static_cast<int>(f)]; }

inline Var operator+(const Var& a, const Var& b) { return add(a, b); }  // operators: as add, sub, mul, div
inline Var operator-(const Var& a, const Var& b) { return sub(a, b); }
inline Var operator*(const Var& a, const Var& b) { return mul(a, b); }
inline Var operator/(const Var& a, const Var& b) { return div(a, b); }
inline Var operator*(const Var& x, real factor) { return scale(x, factor); }
inline Var operator*(real factor, const Var& x) { return scale(x, factor); }
inline Var operator+(const Var& x, real constant) { return shift(x, constant); }
inline Var operator-(const Var& x, real constant) { return shift(x, -constant); }
inline Var operator-(const Var& x) { return scale(x, -1); }
inline Var operator+(real constant, const Var& x) { return shift(x, constant); }
inline Var operator-(real constant, const Var& x) { return shift(scale(x, -1), constant); }
Var operator/(const Var& x, real divisor);  // x · (1 / divisor), in two steps where 1 / divisor overflows
inline Var operator/(real constant, const Var& x) { return div(Tensor::full({}, constant), x); }
// x += y makes x the sum: what read x before keeps what it read.
Var& operator+=(Var& x, const auto& y) { return x = x + y; }
Var& operator-=(Var& x, const auto& y) { return x = x - y; }
Var& operator*=(Var& x, const auto& y) { return x = x * y; }
Var& operator/=(Var& x, const auto& y) { return x = x / y; }

// --- comparisons and choices --------------------------------------------------------------------------------------------
// less, less_equal, equal, not_equal, greater, greater_equal: 1 where it holds, else 0. No gradient. Repeated as add. NaN differs
// from everything.
Tensor less(const Var& a, const Var& b);
Tensor less_equal(const Var& a, const Var& b);
Tensor equal(const Var& a, const Var& b);
Tensor not_equal(const Var& a, const Var& b);
inline Tensor greater(const Var& a, const Var& b) { return less(b, a); }
inline Tensor greater_equal(const Var& a, const Var& b) { return less_equal(b, a); }
inline Tensor operator<(const Var& a, const Var& b) { return less(a, b); }  // as less, and so on
inline Tensor operator<=(const Var& a, const Var& b) { return less_equal(a, b); }
inline Tensor operator>(const Var& a, const Var& b) { return less(b, a); }
inline Tensor operator>=(const Var& a, const Var& b) { return less_equal(b, a); }
inline Tensor operator<(const Var& x, real c) { return less(x, Tensor::full({}, c)); }
inline Tensor operator<=(const Var& x, real c) { return less_equal(x, Tensor::full({}, c)); }
inline Tensor operator>(const Var& x, real c) { return less(Tensor::full({}, c), x); }
inline Tensor operator>=(const Var& x, real c) { return less_equal(Tensor::full({}, c), x); }

// a where the condition is not 0, else b, whatever the other holds there; all three are repeated as above.
Var where(const Tensor& condition, const Var& a, const Var& b);
Var where(const Tensor& condition, const Var& a, real b);
Var where(const Tensor& condition, real a, const Var& b);
// Value where the mask is not 0, else x.
inline Var masked_fill(const Var& x, const Tensor& mask, real value) { return where(mask, value, x); }

// --- rows and reductions --------------------------------------------------------------------------------------------
Var softmax(const Var& x, int axis = -1);      // exp x / Σ exp x along the axis
Var log_softmax(const Var& x, int axis = -1);  // its logarithm, exact for extreme x
Var sum(const Var& x);                         // of all elements -> a single number []
Var mean(const Var& x);                        // of all elements
Var max(const Var& x);                         // the gradient goes to the first of equals
// sum, mean, max: the axis is removed; or kept, with extent 1, so that the result meets x again: x / sum(x, 0, true).
Var sum(const Var& x, int axis, bool keep = false);
Var mean(const Var& x, int axis, bool keep = false);
Var max(const Var& x, int axis, bool keep = false);
Var logsumexp(const Var& x, int axis = -1, bool keep = false);  // log Σ exp x
Var cumsum(const Var& x, int axis);                             // sums of all up to each; x's shape
// Where max(x, axis) lies: the first of equals; NaN is larger than any number.
IdTensor argmax(const Var& x, int axis = -1);
// The largest elements along an axis, and where they lie.
struct TopK {
  Var values;        // largest first: x's shape, `count` in place of the axis
  IdTensor indices;  // of the same shape
};
TopK topk(const Var& x, int count, int axis = -1);  // the `count` largest
// Draws a number for each row from softmax(logits / temperature), on the host: [..., n] -> [...]. The temperature is above 0.
// A logit may be -∞, which is never drawn, but not all of a row. Each row takes one random.uniform(), in their order.
IdTensor draw_from_softmax(const Var& logits, double temperature, RandomStream& random);
inline IdTensor draw_from_softmax(const Var& logits, RandomStream& random) {
  return draw_from_softmax(logits, 1, random);
}
// y = (x - mean) / sqrt(variance + eps) · gain + bias over the last dimension, variance of the row itself
// (Ba, Kiros, Hinton 2016). gain, bias [last].
Var layer_norm(const Var& x, const Var& gain, const Var& bias, real eps = real(1e-5));

// --- shape ------------------------------------------------------------------------------------------------------------
Var reshape(const Var& x, const Shape& shape);
Var reshape(const Var& x, std::initializer_list<int> extents);  // one of them may be -1: what is left for it
Var transpose(const Var& x);                                    // [a, b] -> [b, a]
Var transpose(const Var& x, int axis, int other);         // two dimensions exchanged: [steps, batch, n], 0, 1
Var permute(const Var& x, const std::vector<int>& axes);  // dimension i of the result is axes[i] of x
Var broadcast_to(const Var& x, const Shape& shape);       // repeated where its extent is 1 or missing
Var concat(const Vars& parts, int axis);                  // one behind the other along an axis
Var stack(const Vars& parts);                             // a new first dimension
template <std::same_as<std::vector<Var>> V>
Var concat(const V& parts, int axis) {
  return concat(Vars(parts.begin(), parts.end()), axis);
}
template <std::same_as<std::vector<Var>> V>
Var stack(const V& parts) {
  return stack(Vars(parts.begin(), parts.end()));
}
// Elements begin … end-1 of one dimension, or all from `begin` on. Negative ones count from the end: -1 is the last.
Var slice(const Var& x, int axis, int begin, int end);
Var slice(const Var& x, int axis, int begin);
Var row(const Var& x, int index);  // x[index]: first dimension removed, a step of a sequence; -1 is the last
// `count` parts at most, of equal extents, the last one smaller if need be.
Vars chunk(const Var& x, int count, int axis);
Var pad(const Var& x, int axis, int before, int after,
        real value = 0);                        // so many elements more, of this value
Var flip(const Var& x);                         // the first dimension backwards
Var gather(const Var& x, const IdTensor& ids);  // x [..., n], ids [...] -> x[..., ids]
// y[…, i, …] = x[…, ids[…, i, …], …] along one dimension: ids have x's extents in all others, and y has the ids' shape.
Var gather(const Var& x, int axis, const IdTensor& ids);
Var index_select(const Var& x, int axis, const IdTensor& ids);  // ids [n]: x's shape, n in place of the axis

// --- layers' operations -----------------------------------------------------------------------------------------------
Var embedding(const Var& table, const IdTensor& ids);  // table [vocab, dim], ids [...] -> [..., dim]

// y = x · mask / (1 - rate), each element kept with probability 1 - rate (Srivastava et al. 2014). Does nothing
// unless a tape records with dropout on. `locked`: one mask for all of the first dimension, that is over time
// (Gal and Ghahramani 2016).
Var dropout(const Var& x, real rate, const RandomKey& key, bool locked = false);
bool dropout_is_on();  // a tape records, with dropout
// The factors of dropout by themselves: 0 with probability `rate` in [0, 1), else 1 / (1 - rate).
Tensor dropout_mask(const Shape& shape, real rate, const RandomKey& key);
// The rows of x where `kept` is not 0; the others become zero, whatever they hold.  x [..., n], kept [...]
Var mask_rows(const Var& x, const Tensor& kept);

// lstm_cell: one step of an LSTM (Hochreiter and Schmidhuber 1997; forget gates: Gers et al. 2000), gate order i f g o:
//   i f o = σ(gates), g = tanh(gates);  c = f·c_prev + i·g;  h = o·tanh(c)
// gates [batch, 4*hidden], c_prev [batch, hidden].
struct LstmCellOutput {
  Var h, c;  // [batch, hidden]
};
LstmCellOutput lstm_cell(const Var& gates, const Var& c_prev);

// For the closures of operations: adds d to x's gradient, which has as many elements, in their order. Does nothing if
// x wants none.
void contribute(const Tensor& d, const Var& x);

}  // namespace unroll
