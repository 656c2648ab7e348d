// Operations that leave elements out: at random, or whole rows by a mask.
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

}  // namespace unroll
