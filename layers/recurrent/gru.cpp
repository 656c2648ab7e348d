#include "layers/recurrent/gru.h"

#include "layers/recurrent/engines/fused/state_of_h.h"

namespace unroll {

using namespace fused;

GruCell::GruCell(const LayerScope& scope)
    : weight_ih(scope.add("weight_ih", {3 * scope.hidden, scope.input}).var()),
      weight_hh(scope.add("weight_hh", {3 * scope.hidden, scope.hidden}).var()),
      bias(scope.add("bias", {3 * scope.hidden}).var()),
      bias_hn(scope.add("bias_hn", {scope.hidden}).var()),
      step_by_step(scope.config.algorithm == RecurrentAlgorithm::standard) {}

// In elementary operations: the reference for the fast engine.
RecurrentVars GruCell::step(const Var& x, const Var& h_in, const RecurrentVars& before, Vars* gates) const {
  const int hidden = before.h.dim(1);
  const Var a = linear(x, weight_ih, bias), q = linear(h_in, weight_hh);  // [batch, 3*hidden]
  const auto part = [&](const Var& sums, int k) { return slice(sums, 1, k * hidden, (k + 1) * hidden); };
  const Var r = sigmoid(part(a, 0) + part(q, 0)), z = sigmoid(part(a, 1) + part(q, 1));
  const Var n = tanh(part(a, 2) + r * (part(q, 2) + bias_hn));
  if (gates) *gates = {r, z, n};
  return {(-z + 1) * n + z * before.h, {}};
}

// --- the engine fused (engines/fused/state_of_h.h) --------------------------------------------------

namespace {

// For t = 0 … T-1, sums a_t of x and q_t of h [batch, 3*hidden] in order r z n:
//   a_t = x_t W_ihᵀ + b;   q_t = h_{t-1} W_hhᵀ, for n + b_hn
//   r z = σ(a + q);   n = tanh(a + r q);   h_t = (1-z) n + z h_{t-1}
// and back, for t = T-1 … 0, (da_t, dq_t) the cell's gradient of dh_t:
//   dh_{t-1} = dy_{t-1} + dq_t W_hh + z dh_t
//   dx = da W_ih     dW_ih = daᵀ x     dW_hh = Σ_t dq_tᵀ h_{t-1}     db = Σ da     db_hn = Σ dq of n
struct GruPass {
  static constexpr bool one_sum = false;
  static const auto* one_kernel() { return persistent_gru(); }
  const GruCell layer;
  const Tensor of_x, of_h;  // [steps, batch, 3*hidden]: a and q, in the end da and dq

  GruStep step(int t, const Tensor& h_before, Tensor h, const HandOn& on) const {
    Tensor a = of_x[t], q = of_h[t];
    return {.batch = h.dim(0),
            .hidden = h.dim(1),
            .gates = a.data(),
            .sums = q.data(),
            .bias_hn = layer.bias_hn.value().data(),
            .h_prev = h_before.data(),
            .h = h.data(),
            .h_on = on};
  }
  GruStep step_back(int t, const Tensor& h_before, const Tensor& h, const HandOn& on,
                    const RoundedCopy& rounded) const {
    GruStep s = step(t, h_before, h, on);
    s.rounded_sums = rounded;
    return s;
  }
  void forward(int t, const Tensor& h_before, const Tensor& h, const HandOn& on) const {
    kernels().gru_cell(step(t, h_before, h, on));
  }
  void backward(int t, const Tensor& h_before, const Tensor& h, const HandOn& on, const RoundedCopy& rounded,
                Tensor dh, Tensor direct) const {
    kernels().gru_cell_gradient(step_back(t, h_before, h, on, rounded), dh.data(), direct.data());
  }
  void forward(const FewRowsPass& few, int t, const Tensor& h_before, const Tensor& h,
               const HandOn& on) const {
    few.kernels.gru_cell(few.product, step(t, h_before, h, on));
  }
  void backward(const FewRowsPass& few, int t, const Tensor& h_before, const Tensor& h, const HandOn& on,
                const RoundedCopy& rounded, Tensor direct) const {
    few.kernels.gru_cell_gradient(few.product, step_back(t, h_before, h, on, rounded), few.before,
                                  direct.data());
  }
  void contribute() const {
    const int hidden = of_h.dim(2) / 3;
    Tensor dn({of_h.dim(0), of_h.dim(1), hidden});
    kernels().copy_blocks(of_h.data() + 2 * hidden, 3 * hidden, dn.data(), hidden, dn.rows(), hidden, false);
    contribute_rows(dn, layer.bias_hn);
  }
};

}  // namespace

RecurrentOutput GruCell::fused(const Var& x, const RecurrentVars& state, const RecurrentMasks& masks) const {
  PartInLane lane(masks.part, PartInLane::Way::forward);
  const Shape sums{x.dim(0), x.dim(1), 3 * state.h.dim(1)};
  return over_window("gru_layer_fused", GruPass{*this, Tensor(sums), Tensor(sums)}, x, state.h, masks, lane);
}

// The state before the step is not needed again: it is overwritten.
void GruCell::plain_step(const Tensor& x, Tensor h, Tensor, Tensor room) const {
  const int batch = h.dim(0), gates = 3 * h.dim(1);
  Tensor both = room.reshape({2 * batch, gates}), a = both.slice(0, batch), q = both.slice(batch, 2 * batch);
  gemm(x, transposed(weight_ih.value()), bias.value(), a);
  gemm(h, transposed(weight_hh.value()), overwrite(q));
  kernels().gru_cell({.batch = batch,
                      .hidden = h.cols(),
                      .gates = a.data(),
                      .sums = q.data(),
                      .bias_hn = bias_hn.value().data(),
                      .h_prev = h.data(),
                      .h = h.data()});
}

template class Recurrent<GruCell>;

}  // namespace unroll
