// A projection in a fused loop: h = W_hr·out, where out is the cell's output. Does nothing without a projection.
#pragma once

#include <optional>

#include "layers/recurrent/engines/fused/lstm_window.h"

namespace unroll::fused {

inline constexpr const char* projection_row = "recurrent: projection";

class ProjectionForward {
 public:
  explicit ProjectionForward(const LstmLayerWindow& w) {
    if (!w.projects()) return;
    weights_.emplace(transposed(w.layer.weight_hr.value()), w.steps);
    rounded_ = RoundedTensor({w.batch, w.hidden});
  }
  // Returns what the cell's pass does to h in step t. `after` is the options' part. A projection makes h from the
  // cell's output later, so only rounding is left here.
  HandOn in_cell(const HandOn& after) const {
    if (!weights_) return after;
    HandOn on;
    on.rounded = rounded_.copy();
    return on;
  }
  void operator()(LstmLayerWindow& w, int t, const HandOn& after) {
    if (!weights_) return;
    {
      const Profile::Within measured(projection_row);
      gemm(rounded_.operand(w.out[t]), *weights_, overwrite(w.h[t + 1]));
    }
    const Profile::Within measured(w.cell_row);
    Tensor next = w.h[t + 1];
    if (acts(after)) kernels().hand_on(after, next.data(), w.batch, w.width, next.data());
  }

 private:
  std::optional<StepWeights> weights_;
  RoundedTensor rounded_;
};

class ProjectionBackward {
 public:
  explicit ProjectionBackward(const LstmLayerWindow& w) {
    if (!w.projects()) return;
    weights_.emplace(w.layer.weight_hr.value(), w.steps);
    d_ = Tensor({w.steps, w.batch, w.width});
    rounded_ = RoundedTensor(d_.shape());
  }
  // Computes dout from dh in step t. Returns what the cell's pass must still do to dh.
  HandOn operator()(LstmBackward& back, int t) {
    HandOn on = back.h.at(t);
    if (!weights_) return on;
    on.rounded = rounded_.copy(t);
    Tensor d = d_[t];
    {
      const Profile::Within measured(back.w.cell_row);
      kernels().hand_on_gradient(on, back.dh.data(), back.w.batch, back.w.width, d.data());
    }
    const Profile::Within measured(projection_row);
    gemm(rounded_.operand(d_, t), *weights_, overwrite(back.dout));
    return {};
  }
  void contribute(const LstmLayerWindow& w) const {
    if (!weights_) return;
    const Profile::Within measured(projection_row);
    contribute_product(rounded_.operand(d_), w.out, w.layer.weight_hr);
  }

 private:
  std::optional<StepWeights> weights_;
  Tensor d_ = {};  // gradients of h [steps, batch, width]
  RoundedTensor rounded_;
};

}  // namespace unroll::fused
