// Dynamic evaluation: a model learns from the text that it is scored on, each part after its score (Krause, Kahembwe,
// Murray and Renals 2018, "Dynamic evaluation of neural sequence models"). With RMS and decay, their best form.
//
//   GradientStatistics statistics(model.params);
//   for (windows of the training text) { Tape tape(undropped); tape.backward(loss); statistics.add(); }
//   DynamicEvaluation update(model.params, statistics.root_mean_square());
//   learn_while_scoring(segments, update, [&](int64_t k) { … return loss; });
#pragma once

#include <cstdint>
#include <vector>

#include "optim/optimizer.h"

namespace unroll {

// The typical size of each weight's gradient: R = √(mean over the windows of g²).
class GradientStatistics {
 public:
  // Allocates one slab.
  explicit GradientStatistics(ParameterSet& params);
  // Adds the gradients of a window, and clears them. Throws Error if there are none.
  void add();
  int64_t windows() const { return windows_; }
  // R, laid out as ParameterSet::values(); 0 for frozen parameters. Throws Error before the first window.
  Tensor root_mean_square() const;

 private:
  ParameterSet params_;  // shared with the model's
  Tensor sum_;           // of g²
  int64_t windows_ = 0;
};

// Defaults: those of the authors, for segments of 5 tokens.
struct DynamicEvaluationConfig {
  double learning_rate = 5e-5;  // η
  double decay = 2e-3;          // λ, from 0 up
  double epsilon = 2e-5;        // ε, positive
};

// W += min(λ R/r, 1) (W₀ - W) - η g / (R + ε). W₀ are the weights at construction, R is as GradientStatistics gives it,
// and r is the mean, over tensors that have a gradient, of the mean of R. The first term is applied before the second.
//
// A step is one pass over weights, gradients, W₀ and R. It skips rows of an embedding that have never had a gradient:
// these still equal W₀.
class DynamicEvaluation : public Optimizer {
 public:
  // Allocates one slab, for W₀, and shares R's memory. Throws InputError if a setting is out of range, or if R is all
  // zeros or holds a value that cannot be a root mean square.
  DynamicEvaluation(ParameterSet& params, const Tensor& root_mean_square,
                    const DynamicEvaluationConfig& config = {});
  std::string_view name() const override { return "dynamic"; }
  OptimizerState state() override;             // "start" (W₀), "root_mean_square" (R)
  double typical() const { return typical_; }  // r

  // Puts W₀ back.
  void restore();

 protected:
  void order(StepOrders&) override {}
  void update() override;

 private:
  struct Rows {
    bool all = false;            // may differ from W₀, or these:
    std::vector<int32_t> moved;  // each once
    std::vector<uint8_t> is_moved;
  };
  DynamicEvaluationConfig config_;
  double typical_ = 0;
  Tensor start_, rms_;
  std::vector<Rows> rows_;  // by parameter
};

// Scores `segments` segments, and learns from each with `optimizer` after its score. loss(k) computes and returns the
// loss to learn from, on a tape without dropout, with weights that have not seen segment k. It keeps the state between
// segments itself. The last segment is not learned from.
template <class Loss>
void learn_while_scoring(int64_t segments, Optimizer& optimizer, Loss loss) {
  for (int64_t k = 0; k < segments; ++k) {
    Tape tape({.dropout = false});
    const Var of_segment = loss(k);
    if (k + 1 == segments) return;
    tape.backward(of_segment);
    optimizer.step();
  }
}

}  // namespace unroll
