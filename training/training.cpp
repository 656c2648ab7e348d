#include "training/training.h"

#include <cmath>

#include "framework/gemm.h"

namespace unroll {

int64_t Training::chosen(int64_t window) const {
  return sample.empty() ? window : sample[static_cast<size_t>(window)];
}

double Training::shown(double mean) const { return options.perplexity ? std::exp(mean) : mean; }

double Training::mean_loss() const {  // a window may have nothing to predict
  return state.count > 0 ? state.total / static_cast<double>(state.count) : state.total;
}

LossScale* Training::loss_scale() {
  if (precision() != Precision::fp16)
    state.loss_scale.reset();
  else if (!state.loss_scale)
    state.loss_scale.emplace();
  return state.loss_scale ? &*state.loss_scale : nullptr;
}

}  // namespace unroll
