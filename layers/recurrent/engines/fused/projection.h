// A projection in a fused loop: h = W_hr·out, out what the cell gives.
#pragma once

#include "layers/recurrent/engines/fused/options.h"

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

}  // namespace unroll::fused
