#include "optim/weight_average.h"

#include "framework/kernels/updates.h"
#include "framework/parameters.h"

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

void WeightAverage::keep(const ParameterSet& params, std::span<Parameter* const> parameters) {
  const Tensor &weights = params.values(), &kept = memory_for(weights);
  if (count++ == 0) return kept.copy_from(weights);
  for (const Parameter* p : parameters) {
    const int begin = static_cast<int>(p->offset), end = begin + static_cast<int>(p->size());
    kept.slice(begin, end).copy_from(weights.slice(begin, end));
  }
}

}  // namespace unroll
