// Operations on elements and rows.
#include "framework/ops.h"

#include <algorithm>
#include <array>
#include <climits>
#include <cmath>
#include <iterator>
#include <optional>
#include <vector>

#include "framework/kernels/kernels.h"

namespace unroll {

void contribute(const Tensor& d, const Var& x) {
  if (!x.wants_grad()) return;
  require(d.defined() && d.size() == x.value().size(), "contribute: a gradient {} for a variable {}",
          d.shape(), x.shape());
  const Into dx = x.gradient();
  kernels().affine(d.data(), 1, 0, dx.tensor.data(), d.size(), dx.add);
}

// --- elements -----------------------------------------------------------------------------------------------------

// For kernels that are given more than they look at: what they do not may be written before the backward.
static Tensor read_if(bool reads, const Tensor& x) { return reads ? x : x.telling(nullptr); }

static_assert(std::size(unary_names) == static_cast<size_t>(Unary::abs) + 1, "each function has a name");

// y = f(x)            dx = dy f'(x);  formulas and slopes: kernels/pointwise.h
Var unary(Unary f, const Var& x) {
  Tensor y(x.shape());
  kernels().unary(f, x.value().data(), y.data(), y.size());
  return record(name_of(f), y, inputs(x), [=](const Var& y) {
    const Into dx = x.gradient();
    const bool of_x = std::ranges::find(slopes_of_x, f) != std::end(slopes_of_x);  // its slope; else of y
    const Tensor x_read = read_if(of_x, x.value()), y_read = read_if(!of_x, y.value());
    kernels().unary_gradient(f, x_read.data(), y_read.data(), y.grad().data(), dx.tensor.data(),
                             y_read.size(), dx.add);
  });
}

// The shape of two operands together: each is repeated where its extent is 1 or missing.
static Shape common_shape(const char* name, const Shape& a, const Shape& b) {
  const std::optional<Shape> result = Shape::together(a, b);
  require(result.has_value(),
          "{}: shapes {} and {} do not agree: counted from the last, extents must be equal or one of them 1",
          name, a, b);
  return *result;
}
// True if x is the end of `whole` but for ones before it: kernels repeat it over the dimensions before.
static bool is_end_of(const Shape& x, const Shape& whole) {
  int begin = 0;
  while (begin < x.rank() && x[begin] == 1) ++begin;
  for (int i = 1; i <= x.rank() - begin; ++i)
    if (x[-i] != whole[-i]) return false;
  return true;
}

// Whether ∂f/∂b, or with !of_b ∂f/∂a, depends on the operand b, or with !operand_b on a.
static bool slope_reads(Binary f, bool of_b, bool operand_b) {
  if (f == Binary::add || f == Binary::sub || f >= Binary::less) return false;
  if (f == Binary::mul) return of_b != operand_b;
  return f != Binary::div || of_b || operand_b;
}

// y = a ∘ b           da = dy ∂f/∂a, summed over repeats;  db alike
static Var binary(const char* name, Binary f, const Var& a, const Var& b) {
  const Shape shape = common_shape(name, a.shape(), b.shape());
  if (!is_end_of(a.shape(), shape)) return binary(name, f, broadcast_to(a, shape), b);
  if (!is_end_of(b.shape(), shape)) return binary(name, f, a, broadcast_to(b, shape));
  Tensor y(shape);
  const int64_t n = y.size();
  kernels().binary(f, a.value().data(), a.value().size(), b.value().data(), b.value().size(), y.data(), n);
  return record(name, y, inputs(a, b), [=](const Var& y) {
    const auto contribute = [&](const Var& x, bool of_b) {
      if (!x.wants_grad()) return;
      const int64_t nx = x.value().size();
      const Into dx = x.gradient();
      Tensor all = nx == n ? dx.tensor : Tensor(y.shape());
      const Tensor a_read = read_if(slope_reads(f, of_b, false), a.value()),
                   b_read = read_if(slope_reads(f, of_b, true), b.value());
      kernels().binary_gradient(f, of_b, a_read.data(), a_read.size(), b_read.data(), b_read.size(),
                                y.grad().data(), all.data(), n, nx == n && dx.add);
      if (nx != n) kernels().sum_rows(all.data(), n / nx, nx, dx.tensor.data(), dx.add);
    };
    contribute(a, false);
    contribute(b, true);
  });
}
Var add(const Var& a, const Var& b) { return binary("add", Binary::add, a, b); }
Var sub(const Var& a, const Var& b) { return binary("sub", Binary::sub, a, b); }
Var mul(const Var& a, const Var& b) { return binary("mul", Binary::mul, a, b); }
Var div(const Var& a, const Var& b) { return binary("div", Binary::div, a, b); }
Var maximum(const Var& a, const Var& b) { return binary("maximum", Binary::max, a, b); }
Var minimum(const Var& a, const Var& b) { return binary("minimum", Binary::min, a, b); }
Var pow(const Var& base, const Var& exponent) { return binary("pow", Binary::pow, base, exponent); }
Var pow(const Var& x, real exponent) { return pow(x, Tensor::full({}, exponent)); }

// y = 1 where a ∘ b holds, else 0
static Tensor comparison(const char* name, Binary f, const Var& a, const Var& b) {
  (void)common_shape(name, a.shape(), b.shape());
  const NoTape constants;  // who compares asks for no gradient
  return binary(name, f, a.value(), b.value()).value();
}
Tensor less(const Var& a, const Var& b) { return comparison("less", Binary::less, a, b); }
Tensor less_equal(const Var& a, const Var& b) { return comparison("less_equal", Binary::less_equal, a, b); }
Tensor equal(const Var& a, const Var& b) { return comparison("equal", Binary::equal, a, b); }
Tensor not_equal(const Var& a, const Var& b) { return comparison("not_equal", Binary::not_equal, a, b); }

// y = factor · x + constant        dx = factor · dy
static Var affine(const char* name, const Var& x, real factor, real constant) {
  Tensor y(x.shape());
  kernels().affine(x.value().data(), factor, constant, y.data(), y.size(), false);
  return record(name, y, inputs(x), [=](const Var& y) {
    const Into dx = x.gradient();
    kernels().affine(y.grad().data(), factor, 0, dx.tensor.data(), y.value().size(), dx.add);
  });
}
// y = x between low and high        dx = dy where it is x
Var clamp(const Var& x, real low, real high) {
  require(low <= high, "clamp: x {} between {} and {}: the first must not be above the second", x.shape(),
          low, high);
  const Tensor lowest = Tensor::full({}, low), highest = Tensor::full({}, high);
  Tensor y(x.shape());
  const int64_t n = y.size();
  kernels().binary(Binary::max, x.value().data(), n, lowest.data(), 1, y.data(), n);
  kernels().binary(Binary::min, std::as_const(y).data(), n, highest.data(), 1, y.data(), n);
  return record("clamp", y, inputs(x), [=](const Var& y) {
    Tensor inside(x.shape());
    kernels().binary(Binary::equal, x.value().data(), n, y.value().data(), n, inside.data(), n);
    const Into dx = x.gradient();
    kernels().select(inside.data(), y.grad().data(), 0, nullptr, 0, dx.tensor.data(), n, dx.add);
  });
}
Var scale(const Var& x, real factor) { return affine("scale", x, factor, 0); }
Var shift(const Var& x, real constant) { return affine("shift", x, 1, constant); }
Var operator/(const Var& x, real divisor) {
  const real factor = 1 / divisor;
  if (std::isnormal(factor)) return scale(x, factor);
  const real part = std::abs(divisor) < 1 ? real(0x1p64) : real(0x1p-64);  // a part of the factor
  return scale(scale(x, part), 1 / (divisor * part));
}

// --- rows and reductions --------------------------------------------------------------------------------------------

// f of rows, along any dimension.
static Var along(const char* name, int axis, const Var& x, Var (*f)(const Var&)) {
  const bool by_rows = x.shape().axis(name, axis) == x.shape().rank() - 1;
  return by_rows ? f(x) : transpose(f(transpose(x, axis, -1)), axis, -1);
}

// y = exp(x) / Σ exp(x)        dx = y (dy - Σ y dy), row by row
// y = x - log Σ exp(x)         dx = dy - exp(y) Σ dy, of log_softmax
static Var softmax_of_rows(const char* name, const Var& x, decltype(Kernels::softmax) forward,
                           decltype(Kernels::softmax_gradient) backward) {
  Tensor y(x.shape());
  forward(x.value().data(), y.rows(), y.cols(), y.data());
  return record(name, y, inputs(x), [=](const Var& y) {
    const Into dx = x.gradient();
    const Tensor& value = y.value();
    backward(value.data(), y.grad().data(), value.rows(), value.cols(), dx.tensor.data(), dx.add);
  });
}

Var softmax(const Var& x, int axis) {
  return along("softmax", axis, x, [](const Var& rows) {
    return softmax_of_rows("softmax", rows, kernels().softmax, kernels().softmax_gradient);
  });
}
Var log_softmax(const Var& x, int axis) {
  return along("log_softmax", axis, x, [](const Var& rows) {
    return softmax_of_rows("log_softmax", rows, kernels().log_softmax, kernels().log_softmax_gradient);
  });
}

}  // namespace unroll
