#include "layers/recurrent/engines/fused/layer_pair.h"

#include "framework/kernels/kernels.h"
#include "framework/ops.h"

namespace unroll {

void LayerPair::drop(const Tensor& x, const Tensor& y) const {
  Tensor out = y;
  kernels().binary(Binary::mul, x.data(), x.size(), mask.data(), mask.size(), out.data(), out.size());
}

// y = x · mask        dx = dy · mask, unless the upper layer saw to it
Var LayerPair::dropout(const Var& x, real rate, const RandomKey& key, bool locked) {
  mask = dropout_mask(locked ? Shape{x.dim(1), x.dim(2)} : x.shape(), rate, key);
  const Tensor y(x.shape());
  return record("dropout", y, inputs(x), [x, factors = mask](const Var& y) {
    const Tensor dy = y.grad();
    const Into dx = x.gradient();
    Tensor out = dx.tensor;
    kernels().binary_gradient(Binary::mul, false, x.value().data(), x.value().size(), factors.data(),
                              factors.size(), dy.data(), out.data(), out.size(), dx.add);
  });
}

}  // namespace unroll
