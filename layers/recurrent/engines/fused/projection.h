// A projection in a fused loop: h = W_hr·out, out what the cell gives.
#pragma once

#include "layers/recurrent/engines/fused/options.h"
#include "layers/recurrent/folded.h"
#include "layers/recurrent/mogrifier.h"

namespace unroll::fused {

inline constexpr const char* projection_row = "recurrent: projection";

class Projection {
 public:
  Projection(const Matrix& weights, int steps) : weights_(weights, steps) {}
  void operator()(const Matrix& x, const Tensor& y) const {
    const Profile::Within measured(projection_row);
    gemm(x, weights_, overwrite(y));
  }

 private:
  StepWeights weights_;
};

// Folded (layers/recurrent/folded.h): out goes from step to step. h meets the first step alone.
inline bool folds(const Var& weight_hr, int steps, const RecurrentMasks& masks, const Mogrifier& mogrifier) {
  return has(weight_hr) && on_gpu() && !masks.h.defined() && !masks.new_h.defined() &&
         mogrifier.rounds.empty() && folds_projection(weight_hr.dim(1), steps);
}
// The weights that out meets [gates*hidden, hidden].
inline Tensor folded_weights(const Tensor& weight_hh, const Var& weight_hr) {
  const Profile::Within measured(projection_row);
  const Tensor result({weight_hh.dim(0), weight_hr.dim(1)});
  gemm(weight_hh, weight_hr.value(), overwrite(result));
  return result;
}
// The gradient of folded h after each step [steps, batch, width]: of the last step as it is given; da: of the sums that each step but
// the first made of it; dy: what it gains besides, if it is defined.
inline Tensor gradient_of_folded(const Tensor& of_last, const Matrix& da, const Tensor& weight_hh,
                                 const Resets& resets, const Tensor& dy) {
  const Profile::Within measured(projection_row);
  const int batch = of_last.dim(0), width = of_last.dim(1), last_step = static_cast<int>(da.rows() / batch);
  Tensor d({last_step + 1, batch, width}), last = d[last_step], others = d.slice(0, last_step);
  kernels().hand_on({}, of_last.data(), batch, width, last.data());
  gemm(da, weight_hh, overwrite(others));
  if (resets.kept.defined())
    kernels().keep_rows(others.data(), resets.kept.slice(1, last_step + 1).data(), others.rows(), width,
                        others.data(), false);
  if (dy.defined()) kernels().affine(dy.data(), 1, 0, d.data(), d.size(), true);
  return d;
}

}  // namespace unroll::fused
