// Averaged weights, and averaged gradient descent.
#include <algorithm>

#include <fmt/format.h>

#include "framework/kernels/updates.h"
#include "optim/optimizer.h"

namespace unroll {

Tensor& WeightAverage::memory_for(const Tensor& weights) {
  if (!memory.defined()) memory = Tensor::zeros(weights.shape());
  return memory;
}

double WeightAverage::begin_step(const Tensor& weights) {
  present = next_share();
  if (present > 0) memory_for(weights), ++count;
  return present;
}

void WeightAverage::end_step(const StepValues* step, const Tensor& weights) {
  if (present > 0) kernels().average(step, weights.data(), memory.data(), weights.size());
}

Asgd::Asgd(ParameterSet& params, const AsgdConfig& c)
    : Sgd(params, {.learning_rate = c.learning_rate, .weight_decay = c.weight_decay}),
      average_after_(c.average_after),
      mean_(set_average({.what = "mean of its weights",
                         .counter = "averaged",
                         .slab = "average",
                         .may_lack = false,
                         .share = [this](int64_t n) {
                           return steps() >= average_after_ ? 1 / static_cast<double>(n + 1) : 0;
                         }})) {
  require(c.average_after >= 0, "optimizer: average_after = {} steps is negative", c.average_after);
}

void Asgd::start_averaging() { average_after_ = std::min(average_after_, steps()); }

OptimizerState Asgd::state() {
  OptimizerState state = Sgd::state();
  state.counters.push_back({"average_after", &average_after_});
  return state;
}

AveragedWeights::AveragedWeights(Optimizer& optimizer) : optimizer_(optimizer) {
  require(!optimizer.averaged_in_, "averaged weights: they are in use already");
  if (const Tensor* averages = optimizer.averages()) averages_ = *averages;
  swap();
}
AveragedWeights::~AveragedWeights() {
  try {
    swap();
  } catch (const Error&) {  // the device is gone, and with it what it held; whatever follows says so
  }
}

void AveragedWeights::swap() {
  if (!averages_.defined()) return;
  // Contents, not pointers: variables and layers know where the weights lie.
  const Tensor& weights = optimizer_.parameters().values();
  constexpr int at_once = 1 << 18;
  const int size = weights.dim(0);
  if (!between_.defined()) between_ = Tensor({std::min(at_once, size)});
  for (int begin = 0; begin < size; begin += at_once) {
    const int end = std::min(size, begin + at_once);
    const Tensor mine = weights.slice(begin, end), other = averages_.slice(begin, end);
    const Tensor between = between_.slice(0, end - begin);
    between.copy_from(mine), mine.copy_from(other), other.copy_from(between);
  }
  optimizer_.averaged_in_ = !optimizer_.averaged_in_;
}

}  // namespace unroll
