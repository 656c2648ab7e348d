// The options of a recurrent layer where they act in a fused loop. Each does nothing where what it needs is
// undefined, and otherwise is a row of its own in a profile.
#pragma once

#include <optional>

#include "framework/gemm.h"
#include "framework/kernels/kernels.h"
#include "framework/ops.h"
#include "framework/profile.h"
#include "layers/recurrent/stack.h"

namespace unroll::fused {

// x's gradient gains the sum of d's rows.
inline void contribute_rows(const Tensor& d, const Var& x) {
  if (!x.wants_grad()) return;
  const Into dx = x.gradient();
  kernels().sum_rows(d.data(), d.rows(), d.cols(), dx.tensor.data(), dx.add);
}

// Recurrent dropout: h·mask enters the recurrent product, the mask [batch, width] the same at every step.
inline Tensor masked(const Tensor& h, const Tensor& mask) {
  if (!mask.defined()) return h;
  const Profile::Within measured("recurrent: recurrent_dropout");
  Tensor result(h.shape());
  kernels().binary(Binary::mul, h.data(), h.size(), mask.data(), mask.size(), result.data(), h.size());
  return result;
}

// Weight drop: the weights without the dropped ones, for as long as it takes to pack them.
inline Tensor dropped(const Tensor& w, const RecurrentMasks::Drop& drop) {
  if (drop.rate == 0) return w;
  const Profile::Within measured("recurrent: weight_drop");
  Tensor result(w.shape());
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
  const Profile::Within measured("recurrent: weight_drop");
  kernels().dropout(product.data(), drop.rate, drop.key, product.size(), dw.tensor.data(), product.size(),
                    dw.add);
}

// The weights that the state meets at each step of a window: packed, but not for a single step, as in inference, where
// that would take longer than the product.
class StepWeights {
 public:
  StepWeights(const Matrix& weights, int steps) {
    if (steps > 1)
      packed_.emplace(weights);
    else
      as_they_are_ = weights.tensor, transposed_ = weights.transposed;
  }
  friend void gemm(const Tensor& a, const StepWeights& b, const Into& c) {
    b.packed_ ? gemm(a, *b.packed_, c) : gemm(a, {b.as_they_are_, b.transposed_}, c);
  }
  friend void gemm(const Tensor& a, const StepWeights& b, const Tensor& bias, const Tensor& c) {
    b.packed_ ? gemm(a, *b.packed_, bias, c) : gemm(a, {b.as_they_are_, b.transposed_}, bias, c);
  }

 private:
  std::optional<PackedMatrix> packed_;
  Tensor as_they_are_;
  bool transposed_ = false;
};

// Projection: the product that makes h narrower than what the cell gives.
class Projection {
 public:
  Projection(const Matrix& weights, int steps) : weights_(weights, steps) {}
  void operator()(const Tensor& x, const Tensor& y) const {
    const Profile::Within measured("recurrent: projection");
    gemm(x, weights_, overwrite(y));
  }

 private:
  StepWeights weights_;
};

// Zoneout and padding: a state is u·(what the step computed) + (1-u)·(the state before),
// u [steps, batch, width].
struct Carried {
  static constexpr const char* name = "recurrent: zoneout and lengths";
  Tensor u = {}, rest = {};

  void forward(int t, const Tensor& computed, const Tensor& before, Tensor state) const {
    if (!u.defined()) return;
    const Profile::Within measured(name);
    kernels().blend(u[t].data(), computed.data(), before.data(), state.data(), state.size());
  }
  // d of the state: becomes that of what was computed, and the rest waits for the state before.
  void split(int t, Tensor& d) {
    if (!u.defined()) return;
    const Profile::Within measured(name);
    rest = d.clone();
    kernels().binary(Binary::mul, d.data(), d.size(), u[t].data(), d.size(), d.data(), d.size());
    kernels().binary(Binary::sub, rest.data(), d.size(), d.data(), d.size(), rest.data(), d.size());
  }
  void join(Tensor& d) const {
    if (!u.defined()) return;
    const Profile::Within measured(name);
    kernels().affine(rest.data(), 1, 0, d.data(), d.size(), true);
  }
};

// Resets: the state [batch, width] that a step meets, zero in the rows that begin anew there.
inline constexpr const char* resets_row = "recurrent: resets";
inline Tensor met_at(int t, const Tensor& state, const Resets& resets) {
  if (!resets.act_at(t)) return state;
  const Profile::Within measured(resets_row);
  Tensor result(state.shape());
  kernels().keep_rows(state.data(), resets.kept[t].data(), state.rows(), state.cols(), result.data(), false);
  return result;
}
// Those of all steps, of the states [steps + 1, batch, width] before the first one and after each.
inline Tensor met(const Tensor& states, const Resets& resets) {
  const Tensor before = states.slice(0, states.dim(0) - 1);
  if (!resets.kept.defined()) return before;
  const Profile::Within measured(resets_row);
  Tensor result(before.shape());
  kernels().keep_rows(before.data(), resets.kept.data(), before.rows(), before.cols(), result.data(), false);
  return result;
}
// d of the state before a step reaches no further back there.
inline void cut_off(int t, Tensor& d, const Resets& resets) {
  if (!resets.act_at(t)) return;
  const Profile::Within measured(resets_row);
  kernels().keep_rows(d.data(), resets.kept[t].data(), d.rows(), d.cols(), d.data(), false);
}

// A profile cannot tell options inside the cell apart: the cell's pass is one row with their names.
inline std::string_view row_of_cell(bool norm, bool peepholes) {
  if (norm && peepholes) return "recurrent: cell with layer_norm and peepholes";
  return norm ? "recurrent: cell with layer_norm" : peepholes ? "recurrent: cell with peepholes" : "";
}

// Layer norm happens in the cell, where rows lie in a cache; here is what it needs, and the gradients that
// each row of the batch gathers over the steps. Without a gain nothing happens.

// Layer norm of a product before it joins the gates: gates += x̂·gain + bias, x̂ the normalised rows of the product.
struct NormedProduct {
  Var gain, bias;
  Tensor product = {}, mean = {}, rstd = {}, dgain = {};

  NormedProduct(const Var& gain, const Var& bias, const Shape& gates) : gain(gain), bias(bias) {
    if (!has(gain)) return;
    product = Tensor(gates), mean = Tensor({gates[0], gates[1]}), rstd = Tensor(mean.shape());
    dgain = Tensor::zeros({gates[1], gates[2]});
  }
  // The product is put here, and its gradient is here in the end.
  const Tensor& place(const Tensor& gates) const { return has(gain) ? product : gates; }
  Into into(const Tensor& gates) const { return {place(gates), !has(gain)}; }
  Into into(const Tensor& gates, int t) const { return {place(gates)[t], !has(gain)}; }

  LstmStep::Norm step(int t) {
    if (!has(gain)) return {};
    return {.gain = gain.value().data(),
            .bias = has(bias) ? bias.value().data() : nullptr,
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
