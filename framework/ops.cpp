// Operations that compute: products, elements, rows, and the layers' own.
#include "framework/ops.h"

#include <algorithm>
#include <array>
#include <climits>
#include <iterator>
#include <optional>
#include <vector>

#include "framework/gemm.h"
#include "framework/kernels/kernels.h"

namespace unroll {

void contribute(const Tensor& d, const Var& x) {
  if (!x.wants_grad()) return;
  require(d.defined() && d.size() == x.value().size(), "contribute: a gradient {} for a variable {}",
          d.shape(), x.shape());
  const Into dx = x.gradient();
  kernels().affine(d.data(), 1, 0, dx.tensor.data(), d.size(), dx.add);
}

// --- products ---------------------------------------------------------------------------------------------------

// The matrices of a batch [..., rows, cols], one behind the other.
static Tensor as_matrices(const Tensor& x, int count) { return x.reshape({count, x.dim(-2), x.dim(-1)}); }

namespace {
Shape without_matrix(const Shape& x) { return x.without(-1).without(-1); }

// Which matrix of an operand of `shape` meets number i of all [whole].
class Repeated {
 public:
  Repeated(const Shape& shape, const Shape& whole) : whole_(whole) {
    int stride = 1;
    for (int i = 1; i <= whole.rank(); ++i) {
      const int extent = i <= shape.rank() ? shape[-i] : 1;
      strides_[whole.rank() - i] = extent == 1 ? 0 : stride;
      stride *= extent;
    }
    count_ = stride;
  }
  int count() const { return count_; }
  int of(int i) const {
    int result = 0;
    for (int d = whole_.rank() - 1; d >= 0; --d) result += i % whole_[d] * strides_[d], i /= whole_[d];
    return result;
  }

 private:
  Shape whole_;
  std::array<int, Shape::max_rank> strides_{};
  int count_;
};
}  // namespace

// y[i] = a[i] b[i]        da[i] = Σ dy[i] b[i]ᵀ      db[i] = Σ a[i]ᵀ dy[i], over what is repeated
static Var matmul_of_batches(const Var& a, const Var& b) {
  const std::optional<Shape> batch = Shape::together(without_matrix(a.shape()), without_matrix(b.shape()));
  require(
      batch && a.dim(-1) == b.dim(-2),
      "matmul: a {} [..., m, k] and b {} [..., k, n] must agree in k, and in all dimensions before but where one is 1",
      a.shape(), b.shape());
  const Shape& whole = *batch;
  require(whole.size() <= INT_MAX, "matmul: a {} and b {} are more than {} matrices", a.shape(), b.shape(),
          INT_MAX);
  const int n = static_cast<int>(whole.size());
  Shape shape = whole;
  shape.append(a.dim(-2));
  shape.append(b.dim(-1));
  const Repeated of_a(without_matrix(a.shape()), whole), of_b(without_matrix(b.shape()), whole);
  Tensor y(shape);
  const Tensor as = as_matrices(a.value(), of_a.count()), bs = as_matrices(b.value(), of_b.count()),
               ys = as_matrices(y, n);
  for (int i = 0; i < n; ++i) gemm(as[of_a.of(i)], bs[of_b.of(i)], overwrite(ys[i]));
  return record("matmul", y, inputs(a, b), [=](const Var& y) {
    const Tensor dy = as_matrices(y.grad(), n);
    // The first product that meets a matrix overwrites it, unless something was contributed before.
    const auto each = [n](const Var& x, const Repeated& matrices, auto product) {
      if (!x.wants_grad()) return;
      const auto [dx, add] = x.gradient();
      if (n == 0 && !add) dx.fill(0);
      const Tensor parts = as_matrices(dx, matrices.count());
      std::vector<bool> met(static_cast<size_t>(matrices.count()), add);
      for (int i = 0; i < n; ++i) {
        const int k = matrices.of(i);
        product(i, Into{parts[k], met[static_cast<size_t>(k)]});
        met[static_cast<size_t>(k)] = true;
      }
    };
    each(a, of_a, [&](int i, const Into& da) { gemm(dy[i], transposed(bs[of_b.of(i)]), da); });
    each(b, of_b, [&](int i, const Into& db) { gemm(transposed(as[of_a.of(i)]), dy[i], db); });
  });
}

// y = a b        da = dy bᵀ      db = aᵀ dy
Var matmul(const Var& a, const Var& b) {
  require(a.shape().rank() >= 2 && b.shape().rank() >= 2,
          "matmul: a {} and b {} must have two dimensions at least", a.shape(), b.shape());
  if (b.shape().rank() > 2) return matmul_of_batches(a, b);
  require(a.dim(-1) == b.dim(0), "matmul: last dimension of a {} must equal rows of b {}", a.shape(),
          b.shape());
  Tensor y(a.shape().with(-1, b.dim(1)));
  gemm(a.value(), b.value(), overwrite(y));
  return record("matmul", y, inputs(a, b), [=](const Var& y) {
    if (a.wants_grad()) gemm(y.grad(), transposed(b.value()), a.gradient());
    if (b.wants_grad()) gemm(transposed(a.value()), y.grad(), b.gradient());
  });
}

static void require_linear(const Var& x, const Var& w) {
  if (w.shape().rank() == 2 && x.shape().rank() >= 1 && x.dim(-1) == w.dim(1)) return;
  throw Error(fmt::format("linear: last dimension of x {} must equal columns of w {}{}", x.shape(), w.shape(),
                          of_leaf(w)));
}

// y = x wᵀ + b        dx = dy w      dw = dyᵀ x      db = Σ_rows dy
Var linear(const Var& x, const Var& w, const Var& b) {
  require_linear(x, w);
  require(b.shape() == Shape{w.dim(0)}, "linear: bias {} must have one element per row of w {}", b.shape(),
          w.shape());
  Tensor y(x.shape().with(-1, w.dim(0)));
  gemm(x.value(), transposed(rounded(w).operand(w.value())), b.value(), y);
  return record("linear", y, inputs(x, w, b), [=](const Var& y) {
    const Tensor& dy = y.grad();
    if (x.wants_grad()) gemm(dy, rounded(w).operand(w.value()), x.gradient());
    if (w.wants_grad()) gemm(transposed(dy), x.value(), w.gradient());
    if (b.wants_grad()) {
      const Into db = b.gradient();
      kernels().sum_rows(dy.data(), dy.rows(), dy.cols(), db.tensor.data(), db.add);
    }
  });
}

// y = x wᵀ            dx = dy w      dw = dyᵀ x
Var linear(const Var& x, const Var& w) {
  require_linear(x, w);
  Tensor y(x.shape().with(-1, w.dim(0)));
  gemm(x.value(), transposed(rounded(w).operand(w.value())), overwrite(y));
  return record("linear", y, inputs(x, w), [=](const Var& y) {
    if (x.wants_grad()) gemm(y.grad(), rounded(w).operand(w.value()), x.gradient());
    if (w.wants_grad()) gemm(transposed(y.grad()), x.value(), w.gradient());
  });
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
