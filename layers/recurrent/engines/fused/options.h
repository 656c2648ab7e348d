// The options of a recurrent layer in a fused loop. Each does nothing if its tensors are undefined; otherwise it is a
// row of its own in a profile.
#pragma once

#include <optional>

#include "framework/ops.h"
#include "layers/recurrent/engines/fused/between_steps.h"

namespace unroll::fused {

// Adds the sum of d's rows to x's gradient.
inline void contribute_rows(const Tensor& d, const Var& x) {
  if (!x.wants_grad()) return;
  const Into dx = x.gradient();
  kernels().sum_rows(d.data(), d.rows(), d.cols(), dx.tensor.data(), dx.add);
}

// Weight drop: the weights without the dropped ones. Needed only until they are packed.
inline Tensor dropped(const Tensor& w, const RecurrentMasks::Drop& drop) {
  if (drop.rate == 0) return w;
  const Profile::Within measured("recurrent: weight_drop");
  Tensor result(w.shape());
  kernels().dropout(w.data(), drop.rate, drop.key, w.size(), result.data(), w.size(), false);
  return result;
}
// Adds aᵀ b, without the dropped weights, to the gradient of w.
inline void contribute_product(const Matrix& a, const Matrix& b, const Var& w,
                               const RecurrentMasks::Drop& drop = {}) {
  if (!w.wants_grad()) return;
  const Into dw = w.gradient();
  if (drop.rate == 0) return gemm(transposed(a), b, dw);
  const Tensor product(w.shape());
  gemm(transposed(a), b, overwrite(product));
  const Profile::Within measured("recurrent: weight_drop");
  kernels().dropout(product.data(), drop.rate, drop.key, product.size(), dw.tensor.data(), product.size(),
                    dw.add);
}

// The weights that the state is multiplied with at each step of a window, in the form that products take directly:
// packed, or on a GPU rounded if products round at all. A single step, as in inference, uses them as they are: to
// convert would take longer than the product.
class StepWeights {
 public:
  StepWeights(const Matrix& weights, int steps) : as_they_are_(weights) {
    if (steps == 1) return;
    if (RoundedTensor::is_of_use())
      rounded_ = RoundedTensor(weights.tensor);
    else if (!on_gpu())
      packed_.emplace(weights);
  }
  // A parameter's are rounded once for all windows, until they change.
  StepWeights(const Var& w, bool transposed, int steps) : as_they_are_(w.value(), transposed) {
    if (RoundedTensor::is_of_use())
      rounded_ = w.leaf() || steps > 1 ? rounded(w) : RoundedTensor();
    else if (steps > 1 && !on_gpu())
      packed_.emplace(as_they_are_);
  }
  friend void gemm(const Matrix& a, const StepWeights& b, const Into& c) {
    b.packed_ ? gemm(a, *b.packed_, c) : gemm(a, b.operand(), c);
  }
  friend void gemm(const Matrix& a, const StepWeights& b, const Tensor& bias, const Tensor& c) {
    b.packed_ ? gemm(a, *b.packed_, bias, c) : gemm(a, b.operand(), bias, c);
  }

 private:
  Matrix operand() const {
    return {as_they_are_.tensor, as_they_are_.transposed, rounded_.operand(as_they_are_.tensor).rounded};
  }
  std::optional<PackedMatrix> packed_;
  RoundedTensor rounded_;
  Matrix as_they_are_;
};

inline StepWeights recurrent_weights(const Var& weight_hh, const RecurrentMasks::Drop& drop, bool transpose,
                                     int steps) {
  if (drop.rate == 0) return {weight_hh, transpose, steps};
  return {Matrix(dropped(weight_hh.value(), drop), transpose), steps};
}

// Steps begin … end-1 of a window as an operand. Uses the rounded copy of all steps if there is one.
inline Matrix steps_of(const Tensor& floats, const RoundedTensor& rounded, int begin, int end) {
  return {floats.slice(begin, end), false, rounded.operand(floats, begin).rounded};
}

// Layer norm. Without a gain nothing happens.

constexpr real norm_eps = real(1e-5);

// Layer norm of x's products, which begin the gates: gates = x̂·gain + bias, with x̂ the normalised rows of the
// products. Works on steps begin … end-1: all at once, step by step, or chunk by chunk. With chunks the gain's
// gradient, a sum over rows, comes at the end.
struct NormedInputs {
  Var gain, bias;
  Tensor product = {}, mean = {}, rstd = {}, dgain = {}, dproduct = {};

  NormedInputs(const Var& gain, const Var& bias, const Shape& gates) : gain(gain), bias(bias) {
    if (has(gain)) product = Tensor(gates), mean = Tensor({gates[0], gates[1]}), rstd = Tensor(mean.shape());
  }
  // The products are stored here.
  const Tensor& place(const Tensor& gates) const { return has(gain) ? product : gates; }
  // Their gradient as an operand. Uses the rounded copy of the gates' gradient if there is one.
  Matrix operand(const Tensor& gates, const RoundedTensor& rounded, int begin, int end) const {
    if (has(gain)) return (dproduct.defined() ? dproduct : product).slice(begin, end);
    return steps_of(gates, rounded, begin, end);
  }
  void forward(const Tensor& gates, int begin, int end) const {
    if (!has(gain)) return;
    const Tensor x = product.slice(begin, end);
    Tensor y = gates.slice(begin, end), means = mean.slice(begin, end), rstds = rstd.slice(begin, end);
    kernels().layer_norm(x.data(), gain.value().data(), bias.value().data(), norm_eps, x.rows(), x.cols(),
                         y.data(), false, means.data(), rstds.data());
  }
  // Adds to the gain's gradient. If to_products, also replaces the products by their gradient.
  void backward(const Tensor& gates, int begin, int end, bool to_products = true) {
    if (!has(gain)) return;
    if (!dgain.defined()) dgain = Tensor::zeros({static_cast<int>(product.cols())});
    slope(gates, begin, end, to_products ? product : Tensor(), dgain);
  }
  // Computes only the products' gradient, and keeps the products.
  void backward_to_inputs(const Tensor& gates, int begin, int end) {
    if (!has(gain)) return;
    if (!dproduct.defined()) dproduct = Tensor(product.shape());
    slope(gates, begin, end, dproduct, Tensor());
  }
  void contribute() const {
    if (has(gain)) contribute_rows(dgain, gain);
  }

 private:
  void slope(const Tensor& gates, int begin, int end, Tensor dx, Tensor sums) const {
    const Tensor x = product.slice(begin, end), dy = gates.slice(begin, end);
    if (dx.defined()) dx = dx.slice(begin, end);
    kernels().layer_norm_gradient(x.data(), gain.value().data(), mean.slice(begin, end).data(),
                                  rstd.slice(begin, end).data(), dy.data(), x.rows(), x.cols(),
                                  dx.defined() ? dx.data() : nullptr, false,
                                  sums.defined() ? sums.data() : nullptr, nullptr);
  }
};

// Layer norm of h's product in a step. The cell applies it while rows are in a cache; this holds its arguments, and the
// gradients that each row of the batch gathers over the steps.
struct NormedProduct {
  Var gain;
  Tensor product = {}, mean = {}, rstd = {}, dgain = {};

  NormedProduct(const Var& gain, const Shape& gates) : gain(gain) {
    if (!has(gain)) return;
    product = Tensor(gates), mean = Tensor({gates[0], gates[1]}), rstd = Tensor(mean.shape());
    dgain = Tensor::zeros({gates[1], gates[2]});
  }
  // The product is stored here; its gradient replaces it in the end.
  const Tensor& place(const Tensor& gates) const { return has(gain) ? product : gates; }
  Into into(const Tensor& gates, int t) const { return {place(gates)[t], !has(gain)}; }

  LstmStep::Norm step(int t) {
    if (!has(gain)) return {};
    return {.gain = gain.value().data(),
            .product = product[t].data(),
            .mean = mean[t].data(),
            .rstd = rstd[t].data(),
            .dgain = dgain.data()};
  }
  void contribute() const {
    if (has(gain)) contribute_rows(dgain, gain);
  }
};

// Layer norm of c on its way to h.
struct NormedState {
  Var gain, bias;
  Tensor y = {}, mean = {}, rstd = {}, dgain = {}, dbias = {};

  NormedState(const Var& gain, const Var& bias, const Shape& c) : gain(gain), bias(bias) {
    if (!has(gain)) return;
    y = Tensor(c), mean = Tensor({c[0], c[1]}), rstd = Tensor(mean.shape());
    dgain = Tensor::zeros({c[1], c[2]}), dbias = Tensor::zeros(dgain.shape());
  }
  LstmStep::StateNorm step(int t) {
    if (!has(gain)) return {};
    return {.gain = gain.value().data(),
            .bias = bias.value().data(),
            .y = y[t].data(),
            .mean = mean[t].data(),
            .rstd = rstd[t].data(),
            .dgain = dgain.data(),
            .dbias = dbias.data()};
  }
  void contribute() const {
    if (has(gain)) contribute_rows(dgain, gain), contribute_rows(dbias, bias);
  }
};

}  // namespace unroll::fused
