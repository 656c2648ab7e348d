// Weights beside those that a training works with: an average of them.
//
// An optimizer has one average at most (Optimizer::keep_average). While an AveragedWeights lives, the model's weights are the
// averaged ones. The Trainer scores those, and its checkpoints hold them as the model's.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "framework/tensor.h"

namespace unroll {

struct StepValues;  // framework/kernels/updates.h

struct WeightAverage {
  std::string what;                // for messages: "mean of its weights"
  std::string_view counter, slab;  // names in a checkpoint
  bool may_lack = true;            // OptimizerState::Counter::may_lack
  // The weights after a step that go in as the n-th, n from 0:  average += share(n) · (weights - average).
  // 0: they do not go in.
  std::function<double(int64_t n)> share = {};

  int64_t count = 0;   // weights that went in
  double present = 0;  // the share in the present step
  Tensor memory = {};  // [elements], as ParameterSet::values()

  // nullptr while nothing went in.
  const Tensor* values() const { return count > 0 ? &memory : nullptr; }
  Tensor& memory_for(const Tensor& weights);                      // zeros at first
  double next_share() const { return share ? share(count) : 0; }  // of the weights after the next step
  double begin_step(const Tensor& weights);  // takes the share that the step has; gets memory
  void end_step(const StepValues* step, const Tensor& weights);  // takes the weights in
};

}  // namespace unroll
