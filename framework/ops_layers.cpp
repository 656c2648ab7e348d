// The layers' own operations, and those that leave elements out: at random, whole rows by a mask, or by a condition.
#include <array>
#include <climits>
#include <optional>

#include "framework/kernels/kernels.h"
#include "framework/ops.h"

namespace unroll {

bool dropout_is_on() {
  const Tape* tape = Tape::recording();
  return tape && tape->options().dropout;
}

static void require_rate(real rate, const Shape& shape) {
  require(rate >= 0 && rate < 1, "dropout: rate {} is not in [0, 1); x is {}", rate, shape);
}

// y = x · mask / (1 - rate)        dx = dy · mask / (1 - rate); the mask is drawn again from the key
Var dropout(const Var& x, real rate, const RandomKey& key, bool locked) {
  require_rate(rate, x.shape());
  if (!dropout_is_on() || rate == 0) return x;
  Tensor y(x.shape());
  const int64_t n = y.size(), period = locked && y.rank() > 0 && n > 0 ? n / y.dim(0) : n;
  kernels().dropout(x.value().data(), rate, key, period, y.data(), n, false);
  return record("dropout", y, inputs(x), [=](const Var& y) {
    const Into dx = x.gradient();
    kernels().dropout(y.grad().data(), rate, key, period, dx.tensor.data(), n, dx.add);
  });
}

Tensor dropout_mask(const Shape& shape, real rate, const RandomKey& key) {
  require_rate(rate, shape);
  Tensor mask = Tensor::full(shape, 1);
  kernels().dropout(mask.data(), rate, key, mask.size(), mask.data(), mask.size(), false);
  return mask;
}

// y[r] = x[r] or 0        dx[r] = dy[r] or 0
Var mask_rows(const Var& x, const Tensor& kept) {
  require(kept.defined(), "mask_rows: the mask is empty: nothing was assigned to it");
  require(x.shape().rank() >= 1 && kept.shape() == x.shape().without(-1),
          "mask_rows: a mask {} must have the shape of x {} without its last dimension", kept.shape(),
          x.shape());
  Tensor y(x.shape());
  kernels().keep_rows(x.value().data(), kept.data(), y.rows(), y.cols(), y.data(), false);
  return record("mask_rows", y, inputs(x), [=](const Var& y) {
    const Into dx = x.gradient();
    kernels().keep_rows(y.grad().data(), kept.data(), dx.tensor.rows(), dx.tensor.cols(), dx.tensor.data(),
                        dx.add);
  });
}

static void contribute_chosen(const Tensor& c, bool where_it_holds, const Tensor& dy, const Var& x) {
  if (!x.wants_grad()) return;
  const Into dx = x.gradient();
  const real* d = dy.data();
  kernels().select(c.data(), where_it_holds ? d : nullptr, 0, where_it_holds ? nullptr : d, 0,
                   dx.tensor.data(), dy.size(), dx.add);
}

// y = a where c is not 0, else b        da = dy there, else 0;  db = dy elsewhere
// An empty a or b stands for the number a0 or b0.
static Var chosen(const Tensor& condition, const Var& a, real a0, const Var& b, real b0) {
  require(condition.defined(), "where: the condition is empty: nothing was assigned to it");
  const Shape of_a = a.value().shape(), of_b = b.value().shape();
  std::optional<Shape> shape = Shape::together(of_a, of_b);
  if (shape) shape = Shape::together(*shape, condition.shape());
  require(
      shape.has_value(),
      "where: condition {}, a {} and b {} do not agree: counted from the last, extents must be equal or 1",
      condition.shape(), of_a, of_b);
  const auto repeated = [&](const Var& x) {
    return !x.value().defined() || x.shape() == *shape ? x : broadcast_to(x, *shape);
  };
  const Tensor c = repeated(condition).value();
  const Var x = repeated(a), z = repeated(b);
  Tensor y(*shape);
  kernels().select(c.data(), x.value().data(), a0, z.value().data(), b0, y.data(), y.size(), false);
  return record("where", y, inputs(x, z), [=](const Var& y) {
    contribute_chosen(c, true, y.grad(), x);
    contribute_chosen(c, false, y.grad(), z);
  });
}
Var where(const Tensor& condition, const Var& a, const Var& b) {
  (void)a.shape(), (void)b.shape();  // which throw if nothing was assigned
  return chosen(condition, a, 0, b, 0);
}
Var where(const Tensor& condition, const Var& a, real b) {
  (void)a.shape();
  return chosen(condition, a, 0, {}, b);
}
Var where(const Tensor& condition, real a, const Var& b) {
  (void)b.shape();
  return chosen(condition, {}, a, b, 0);
}

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
