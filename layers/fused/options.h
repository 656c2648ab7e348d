// The options of a recurrent layer where they act in a fused loop. Each does nothing where what it needs is
// undefined.
#pragma once

#include "framework/gemm.h"
#include "framework/kernels/kernels.h"
#include "layers/recurrent.h"

namespace unroll::inline UNROLL_REAL::fused {

inline bool has(const Var& v) { return v.value().defined(); }

// x's gradient gains d.
inline void contribute(const Tensor& d, const Var& x) {
  if (!x.wants_grad()) return;
  const Into dx = x.gradient();
  kernels().affine(d.data(), 1, 0, dx.tensor.data(), d.size(), dx.add);
}
// x's gradient gains the sum of d's rows.
inline void contribute_rows(const Tensor& d, const Var& x) {
  if (!x.wants_grad()) return;
  const Into dx = x.gradient();
  kernels().sum_rows(d.data(), d.rows(), d.cols(), dx.tensor.data(), dx.add);
}
// The gradient of x, to be added to.
inline Tensor accumulator(const Var& x) {
  const Into dx = x.gradient();
  if (!dx.add) dx.tensor.fill(0);
  return dx.tensor;
}

// Recurrent dropout: h·mask enters the recurrent product, the mask [batch, width] the same at every step.
inline Tensor masked(const Tensor& h, const Tensor& mask) {
  if (!mask.defined()) return h;
  const Tensor result(h.shape());
  kernels().binary(Binary::mul, h.data(), h.size(), mask.data(), mask.size(), result.data(), h.size());
  return result;
}

// Weight drop: the weights without the dropped ones, for as long as it takes to pack them.
inline Tensor dropped(const Tensor& w, const RecurrentMasks::Drop& drop) {
  if (drop.rate == 0) return w;
  const Tensor result(w.shape());
  kernels().dropout(w.data(), drop.rate, drop.key, w.size(), result.data(), w.size(), false);
  return result;
}
// The gradient of w gains aᵀ b, without what was dropped.
inline void contribute_product(const Tensor& a, const Tensor& b, const Var& w,
                               const RecurrentMasks::Drop& drop = {}) {
  if (!w.wants_grad()) return;
  const Into dw = w.gradient();
  if (drop.rate == 0) return gemm(transposed(a), b, dw);
  const Tensor product(w.shape());
  gemm(transposed(a), b, overwrite(product));
  kernels().dropout(product.data(), drop.rate, drop.key, product.size(), dw.tensor.data(), product.size(),
                    dw.add);
}

// Zoneout and padding: a state is u·(what the step computed) + (1-u)·(the state before), u [steps, batch,
// width].
struct Carried {
  Tensor u = {}, rest = {};

  void forward(int t, const Tensor& computed, const Tensor& before, const Tensor& state) const {
    if (u.defined()) kernels().blend(u[t].data(), computed.data(), before.data(), state.data(), state.size());
  }
  // d of the state: becomes that of what was computed, and the rest waits for the state before.
  void split(int t, const Tensor& d) {
    if (!u.defined()) return;
    rest = d.clone();
    kernels().binary(Binary::mul, d.data(), d.size(), u[t].data(), d.size(), d.data(), d.size());
    kernels().binary(Binary::sub, rest.data(), d.size(), d.data(), d.size(), rest.data(), d.size());
  }
  void join(const Tensor& d) const {
    if (u.defined()) kernels().affine(rest.data(), 1, 0, d.data(), d.size(), true);
  }
};

// Layer norm of a product before it joins the gates: gates += x̂·gain, x̂ the normalised rows of the product.
// Without a gain the product goes straight into the gates.
struct Normed {
  static constexpr real eps = real(1e-5);
  Var gain = {};
  Tensor product = {}, mean = {}, rstd = {};

  Normed() = default;
  Normed(const Var& of, const Shape& gates) {
    if (!has(of)) return;
    const int rows = static_cast<int>(gates.size() / gates[-1]);
    gain = of, product = Tensor(gates), mean = Tensor({gates[0], rows / gates[0]}),
    rstd = Tensor(mean.shape());
  }
  Normed operator[](int t) const {
    if (!has(gain)) return {};
    Normed step;
    step.gain = gain, step.product = product[t], step.mean = mean[t], step.rstd = rstd[t];
    return step;
  }
  template <class Weights>
  void add_product(const Tensor& x, const Weights& w, const Tensor& gates) const {
    if (!has(gain)) return gemm(x, w, add_to(gates));
    gemm(x, w, overwrite(product));
    const Tensor y(product.shape()), zero = Tensor::zeros(gain.shape());
    kernels().layer_norm(product.data(), gain.value().data(), zero.data(), eps, product.rows(),
                         product.cols(), y.data(), mean.data(), rstd.data());
    kernels().affine(y.data(), 1, 0, gates.data(), y.size(), true);
  }
  // d of the gates -> d of the product, which takes the product's place.
  Tensor gradient(const Tensor& d) const {
    if (!has(gain)) return d;
    const auto back = [&](real* dx, real* dgain) {
      kernels().layer_norm_gradient(product.data(), gain.value().data(), mean.data(), rstd.data(), d.data(),
                                    product.rows(), product.cols(), dx, false, dgain, nullptr);
    };
    back(nullptr, accumulator(gain).data());
    back(product.data(), nullptr);
    return product;
  }
};

}  // namespace unroll::inline UNROLL_REAL::fused
