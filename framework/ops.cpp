// Operations that compute: products, elements, rows, and the layers' own.
#include "framework/ops.h"

#include <climits>

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

// y[i] = a[i] b[i]        da[i] = dy[i] b[i]ᵀ      db[i] = a[i]ᵀ dy[i]
static Var matmul_of_batches(const Var& a, const Var& b) {
  bool fits = a.shape().rank() == b.shape().rank() && a.dim(-1) == b.dim(-2);
  int64_t matrices = 1;
  for (int i = 0; fits && i + 2 < a.shape().rank(); ++i) fits = a.dim(i) == b.dim(i), matrices *= a.dim(i);
  require(fits, "matmul: a {} [..., m, k] and b {} [..., k, n] must agree in k and in all dimensions before",
          a.shape(), b.shape());
  require(matrices <= INT_MAX, "matmul: a {} has more than {} matrices", a.shape(), INT_MAX);
  const int n = static_cast<int>(matrices);
  Tensor y(a.shape().with(-1, b.dim(-1)));
  const Tensor as = as_matrices(a.value(), n), bs = as_matrices(b.value(), n), ys = as_matrices(y, n);
  for (int i = 0; i < n; ++i) gemm(as[i], bs[i], overwrite(ys[i]));
  return record("matmul", y, inputs(a, b), [=](const Var& y) {
    const Tensor dy = as_matrices(y.grad(), n);
    if (a.wants_grad()) {
      const auto [da, add] = a.gradient();
      for (int i = 0; i < n; ++i) gemm(dy[i], transposed(bs[i]), {as_matrices(da, n)[i], add});
    }
    if (b.wants_grad()) {
      const auto [db, add] = b.gradient();
      for (int i = 0; i < n; ++i) gemm(transposed(as[i]), dy[i], {as_matrices(db, n)[i], add});
    }
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
  gemm(x.value(), transposed(w.value()), b.value(), y);
  return record("linear", y, inputs(x, w, b), [=](const Var& y) {
    const Tensor& dy = y.grad();
    if (x.wants_grad()) gemm(dy, w.value(), x.gradient());
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
  gemm(x.value(), transposed(w.value()), overwrite(y));
  return record("linear", y, inputs(x, w), [=](const Var& y) {
    if (x.wants_grad()) gemm(y.grad(), w.value(), x.gradient());
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
    const bool of_x = f == Unary::log || f == Unary::softplus || f == Unary::abs;  // its slope; else of y
    const Tensor x_read = read_if(of_x, x.value()), y_read = read_if(!of_x, y.value());
    kernels().unary_gradient(f, x_read.data(), y_read.data(), y.grad().data(), dx.tensor.data(),
                             y_read.size(), dx.add);
  });
}
Var exp(const Var& x) { return unary(Unary::exp, x); }
Var log(const Var& x) { return unary(Unary::log, x); }
Var sqrt(const Var& x) { return unary(Unary::sqrt, x); }
Var sigmoid(const Var& x) { return unary(Unary::sigmoid, x); }
Var tanh(const Var& x) { return unary(Unary::tanh, x); }
Var softplus(const Var& x) { return unary(Unary::softplus, x); }
Var relu(const Var& x) { return unary(Unary::relu, x); }
Var abs(const Var& x) { return unary(Unary::abs, x); }

// Of what two shapes make together, each repeated where its extent is 1 or missing.
static Shape common_shape(const char* name, const Shape& a, const Shape& b) {
  const Shape &longer = a.rank() >= b.rank() ? a : b, &shorter = a.rank() >= b.rank() ? b : a;
  Shape result = longer;
  for (int i = 1; i <= shorter.rank(); ++i) {
    require(
        shorter[-i] == longer[-i] || shorter[-i] == 1 || longer[-i] == 1,
        "{}: shapes {} and {} do not agree: counted from the last, extents must be equal or one of them 1",
        name, a, b);
    if (longer[-i] == 1) result = result.with(-i, shorter[-i]);
  }
  return result;
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
  if (f == Binary::add || f == Binary::sub) return false;
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

// y = factor · x + constant        dx = factor · dy
static Var affine(const char* name, const Var& x, real factor, real constant) {
  Tensor y(x.shape());
  kernels().affine(x.value().data(), factor, constant, y.data(), y.size(), false);
  return record(name, y, inputs(x), [=](const Var& y) {
    const Into dx = x.gradient();
    kernels().affine(y.grad().data(), factor, 0, dx.tensor.data(), y.value().size(), dx.add);
  });
}
Var scale(const Var& x, real factor) { return affine("scale", x, factor, 0); }
Var shift(const Var& x, real constant) { return affine("shift", x, 1, constant); }

// --- rows and reductions --------------------------------------------------------------------------------------------

// f of rows, along any dimension.
static Var along(int axis, const Var& x, Var (*f)(const Var&)) {
  const int last = x.shape().rank() - 1;
  return axis == -1 || axis == last ? f(x) : transpose(f(transpose(x, axis, -1)), axis, -1);
}

// y = exp(x) / Σ exp(x)        dx = y (dy - Σ y dy), row by row
static Var softmax_of_rows(const Var& x) {
  Tensor y(x.shape());
  kernels().softmax(x.value().data(), y.rows(), y.cols(), y.data());
  return record("softmax", y, inputs(x), [=](const Var& y) {
    const Into dx = x.gradient();
    const Tensor& value = y.value();
    kernels().softmax_gradient(value.data(), y.grad().data(), value.rows(), value.cols(), dx.tensor.data(),
                               dx.add);
  });
}

// y = x - log Σ exp(x)         dx = dy - exp(y) Σ dy, row by row
static Var log_softmax_of_rows(const Var& x) {
  Tensor y(x.shape());
  kernels().log_softmax(x.value().data(), y.rows(), y.cols(), y.data());
  return record("log_softmax", y, inputs(x), [=](const Var& y) {
    const Into dx = x.gradient();
    const Tensor& value = y.value();
    kernels().log_softmax_gradient(value.data(), y.grad().data(), value.rows(), value.cols(),
                                   dx.tensor.data(), dx.add);
  });
}

namespace {
// x as [outer, n, inner] around one dimension
struct Around {
  int64_t outer = 1, n = 1, inner = 1;
  Around(const Shape& shape, int axis) : n(shape[axis]) {
    const int k = axis < 0 ? axis + shape.rank() : axis;
    for (int i = 0; i < k; ++i) outer *= shape[i];
    for (int i = k + 1; i < shape.rank(); ++i) inner *= shape[i];
  }
};

Shape without(const Shape& shape, int axis) {
  const int k = axis < 0 ? axis + shape.rank() : axis;
  Shape result;
  for (int i = 0; i < shape.rank(); ++i)
    if (i != k) result.append(shape[i]);
  return result;
}

void require_axis(const char* name, const Var& x, int axis) {
  require(axis >= -x.shape().rank() && axis < x.shape().rank(), "{}: no dimension {} in x {}", name, axis,
          x.shape());
}

Var flat(const char* name, const Var& x) {
  recorded(name, inputs(x));  // else what is wrong with x would be told of the reshape
  require(x.value().size() <= INT_MAX, "{}: x {} has more than {} elements", name, x.shape(), INT_MAX);
  return reshape(x, {static_cast<int>(x.value().size())});
}
}  // namespace

Var softmax(const Var& x, int axis) {
  require_axis("softmax", x, axis);
  return along(axis, x, softmax_of_rows);
}
Var log_softmax(const Var& x, int axis) {
  require_axis("log_softmax", x, axis);
  return along(axis, x, log_softmax_of_rows);
}

// y = factor Σ x over one dimension        dx = factor dy, repeated
static Var scaled_sum(const char* name, const Var& x, int axis, real factor) {
  const Around a(x.shape(), axis);
  Tensor y(without(x.shape(), axis));
  kernels().sum_middle(x.value().data(), a.outer, a.n, a.inner, factor, y.data());
  return record(name, y, inputs(x), [=](const Var& y) {
    const Into dx = x.gradient();
    kernels().sum_middle_gradient(y.grad().data(), a.outer, a.n, a.inner, factor, dx.tensor.data(), dx.add);
  });
}
Var sum(const Var& x, int axis) {
  require_axis("sum", x, axis);
  return scaled_sum("sum", x, axis, 1);
}
Var mean(const Var& x, int axis) {
  require_axis("mean", x, axis);
  require(x.dim(axis) > 0, "mean: dimension {} of x {} is empty", axis, x.shape());
  return scaled_sum("mean", x, axis, real(1) / static_cast<real>(x.dim(axis)));
}
Var sum(const Var& x) { return sum(flat("sum", x), 0); }
Var mean(const Var& x) { return mean(flat("mean", x), 0); }

// y = max x over one dimension        dx = dy at the first of the largest, else 0
Var max(const Var& x, int axis) {
  require_axis("max", x, axis);
  require(x.dim(axis) > 0, "max: dimension {} of x {} is empty", axis, x.shape());
  const Around a(x.shape(), axis);
  Tensor y(without(x.shape(), axis));
  const Memory indices(static_cast<size_t>(y.size()) * sizeof(int32_t));
  const auto where = [indices] { return static_cast<int32_t*>(indices.data()); };
  kernels().max_middle(x.value().data(), a.outer, a.n, a.inner, y.data(), where());
  return record("max", y, inputs(x), [=](const Var& y) {
    const Into dx = x.gradient();
    Tensor all = dx.add ? Tensor(x.shape()) : dx.tensor;  // the kernel overwrites all of it
    kernels().max_middle_gradient(y.grad().data(), where(), a.outer, a.n, a.inner, all.data());
    if (dx.add) kernels().affine(all.data(), 1, 0, dx.tensor.data(), all.size(), true);
  });
}
Var max(const Var& x) { return max(flat("max", x), 0); }

// y = x̂ gain + bias, x̂ = (x - mean) / sqrt(var + eps)
//   dx = (dx̂ - mean(dx̂) - x̂ mean(dx̂ x̂)) / sqrt(var + eps), dx̂ = dy gain;  dgain = Σ dy x̂;  dbias = Σ dy
Var layer_norm(const Var& x, const Var& gain, const Var& bias, real eps) {
  require(x.shape().rank() >= 1 && gain.shape() == Shape{x.dim(-1)} && bias.shape() == gain.shape(),
          "layer_norm: gain {} and bias {} must have the last dimension of x {}", gain.shape(), bias.shape(),
          x.shape());
  Tensor y(x.shape());
  require(y.rows() <= INT_MAX, "layer_norm: x {} has more than {} rows", x.shape(), INT_MAX);
  const int rows = static_cast<int>(y.rows());
  Tensor average({rows}), rstd({rows});
  kernels().layer_norm(x.value().data(), gain.value().data(), bias.value().data(), eps, y.rows(), y.cols(),
                       y.data(), false, average.data(), rstd.data());
  return record("layer_norm", y, inputs(x, gain, bias), [=](const Var& y) {
    const auto zeroed = [](const Var& v) -> real* {
      if (!v.wants_grad()) return nullptr;
      const Into into = v.gradient();
      if (!into.add) into.tensor.fill(0);
      return into.tensor.data();
    };
    real *dgain = zeroed(gain), *dbias = zeroed(bias);
    const Into dx = x.wants_grad() ? x.gradient() : Into{};
    kernels().layer_norm_gradient(x.value().data(), gain.value().data(), average.data(), rstd.data(),
                                  y.grad().data(), rows, y.dim(-1), dx.tensor.data(), dx.add, dgain, dbias);
  });
}

// --- layers' operations -----------------------------------------------------------------------------------------------

static void require_ids(const char* name, const IdTensor& ids, int bound, const Shape& of) {
  require(ids.defined(), "{}: the ids are empty: nothing was assigned to them", name);
  for (int32_t id : ids.span())
    require(id >= 0 && id < bound, "{}: id {} is not in 0 … {} of {}", name, id, bound - 1, of);
}

// y[k] = table[ids[k]]        dtable[ids[k]] += dy[k]
Var embedding(const Var& table, const IdTensor& ids) {
  require(table.shape().rank() == 2 && ids.rank() < Shape::max_rank,
          "embedding: table {} must be [vocab, dim] and ids {} have less than {} dimensions", table.shape(),
          ids.shape(), Shape::max_rank);
  require_ids("embedding", ids, table.dim(0), table.shape());
  Shape shape = ids.shape();
  shape.append(table.dim(1));
  Tensor y(shape);
  // A loop may fill the caller's tokens anew before the backward. A GPU's are looked up by where they lie (DeviceIds).
  const IdTensor kept = recorded("embedding", inputs(table)) ? ids.clone() : ids;
  const KernelIds for_kernels(on_gpu() ? ids : kept);
  kernels().take_rows(table.value().data(), for_kernels.data(), kept.size(), table.dim(1), y.data());
  return record("embedding", y, inputs(table), [=](const Var& y) {
    const Into d = table.gradient_rows(kept.span());
    kernels().add_to_rows(y.grad().data(), for_kernels.data(), kept.size(), table.dim(1), d.tensor.data());
  });
}

// i f o = σ(gates), g = tanh(gates);  c = f c_prev + i g;  h = o tanh(c)
//   dc += dh o (1 - tanh²(c));  di = dc g i(1-i);  df = dc c_prev f(1-f);  dg = dc i (1-g²);
//   do = dh tanh(c) o(1-o);  dc_prev = dc f
LstmCellOutput lstm_cell(const Var& gates, const Var& c_prev) {
  require(gates.shape().rank() == 2 && c_prev.shape() == Shape({gates.dim(0), gates.dim(1) / 4}) &&
              gates.dim(1) % 4 == 0,
          "lstm_cell: gates {} must be [batch, 4*hidden] for c_prev {}", gates.shape(), c_prev.shape());
  const int batch = c_prev.dim(0), hidden = c_prev.dim(1);
  Tensor activated = gates.value().clone(), h(c_prev.shape()), c(c_prev.shape());
  const LstmStep step{.batch = batch,
                      .hidden = hidden,
                      .gates = activated.data(),
                      .c_prev = c_prev.value().data(),
                      .c = c.data(),
                      .h = h.data()};
  kernels().lstm_cell(step);
  auto [h_out, c_out] =
      record<2>("lstm_cell", std::array{h, c}, inputs(gates, c_prev), [=](const Var& h, const Var& c) {
        Tensor dc_prev(c_prev.shape());
        for (const Var* read : {&c_prev, &c}) read->value().data();  // throws if it was written since
        kernels().lstm_cell_gradient(step, h.grad().data(), c.grad().data(), dc_prev.data());
        contribute(activated, gates);
        contribute(dc_prev, c_prev);
      });
  return {h_out, c_out};
}

}  // namespace unroll
