// Operations that leave elements out: at random, whole rows by a mask, or by a condition.
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
  Shape rows = kept.shape();
  if (rows.rank() < Shape::max_rank) rows.append(static_cast<int>(x.value().cols()));
  require(kept.rank() < Shape::max_rank && rows == x.shape(),
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

// y = a where c is not 0, else b        da = dy there, else 0;  db = dy elsewhere
namespace {
Var repeated(const Var& x, const Shape& shape) { return x.shape() == shape ? x : broadcast_to(x, shape); }
void contribute_chosen(const Tensor& c, bool where_it_holds, const Tensor& dy, const Var& x) {
  if (!x.wants_grad()) return;
  const Into dx = x.gradient();
  const real* d = dy.data();
  kernels().select(c.data(), where_it_holds ? d : nullptr, 0, where_it_holds ? nullptr : d, 0,
                   dx.tensor.data(), dy.size(), dx.add);
}
}  // namespace
Var where(const Tensor& condition, const Var& a, const Var& b) {
  require(condition.defined(), "where: the condition is empty: nothing was assigned to it");
  std::optional<Shape> shape = Shape::together(a.shape(), b.shape());
  if (shape) shape = Shape::together(*shape, condition.shape());
  require(
      shape.has_value(),
      "where: condition {}, a {} and b {} do not agree: counted from the last, extents must be equal or 1",
      condition.shape(), a.shape(), b.shape());
  const Tensor c = repeated(condition, *shape).value();
  const Var x = repeated(a, *shape), z = repeated(b, *shape);
  Tensor y(*shape);
  kernels().select(c.data(), x.value().data(), 0, z.value().data(), 0, y.data(), y.size(), false);
  return record("where", y, inputs(x, z), [=](const Var& y) {
    contribute_chosen(c, true, y.grad(), x);
    contribute_chosen(c, false, y.grad(), z);
  });
}
static Var where_or(const Tensor& condition, bool where_it_holds, const Var& a, real other) {
  require(condition.defined(), "where: the condition is empty: nothing was assigned to it");
  const std::optional<Shape> shape = Shape::together(condition.shape(), a.shape());
  require(shape.has_value(),
          "where: condition {} and x {} do not agree: counted from the last, extents must be equal or 1",
          condition.shape(), a.shape());
  const Tensor c = repeated(condition, *shape).value();
  const Var x = repeated(a, *shape);
  const real* values = x.value().data();
  Tensor y(*shape);
  kernels().select(c.data(), where_it_holds ? values : nullptr, other, where_it_holds ? nullptr : values,
                   other, y.data(), y.size(), false);
  return record("where", y, inputs(x),
                [=](const Var& y) { contribute_chosen(c, where_it_holds, y.grad(), x); });
}
Var where(const Tensor& condition, const Var& a, real b) { return where_or(condition, true, a, b); }
Var where(const Tensor& condition, real a, const Var& b) { return where_or(condition, false, b, a); }

}  // namespace unroll
