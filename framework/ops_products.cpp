// Products of matrices, alone and in batches.
#include <optional>

#include "framework/gemm.h"
#include "framework/kernels/kernels.h"
#include "framework/ops.h"

namespace unroll {

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

}  // namespace unroll
