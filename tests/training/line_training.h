// The smallest thing that can be trained, for the suites about the loop.
#pragma once

#include <vector>

#include "unroll.h"
#include "tests/support.h"
#include "training/trainer.h"

namespace unroll {

inline const ProgressOptions silent{.mode = ProgressOptions::Mode::silent};

// y = w x for numbers: the smallest thing that can be trained. Window k has x = k + 1 and y = 3 x.
struct Line {
  ParameterSet params{7};
  Parameter& w = (params / "line").add("w", {1, 1}, Init::constant(0.5f));
  double value() { return static_cast<double>(w.leaf_value().item()); }
  Var loss(int64_t k) {
    const real x = static_cast<real>(k + 1) / 4;
    return mean_squared_error(matmul(Var(tensor({1, 1}, {x})), w.var()), tensor({1, 1}, {3 * x}));
  }
  TrainingTask task(int64_t windows = 3) {
    return {.windows = windows, .loss = [this](int64_t k) { return mean_loss(loss(k), 1); }};
  }
};

inline std::vector<real> bits(const ParameterSet& params) { return params.values().to_host(); }

}  // namespace unroll
