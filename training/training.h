// A training as it stands: what the trainer, its steps and its records share.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "framework/gemm.h"
#include "optim/optimizer.h"
#include "training/checkpoint.h"
#include "training/loss_scale.h"
#include "training/ranks.h"
#include "training/trainer_options.h"

namespace unroll {

// Wall time of this process; since() a moment, and the rate() of predictions per second of training.
struct TrainingTimes {
  double training = 0, saving = 0, logging = 0;  // seconds
  int64_t count = 0;                             // predictions in training
  double rate() const { return training > 0 ? static_cast<double>(count) / training : 0; }
  TrainingTimes since(const TrainingTimes& then) const {
    return {training - then.training, saving - then.saving, logging - then.logging, count - then.count};
  }
};

// All that the parts of a trainer share.
struct Training {
  Optimizer& optimizer;              // the caller's
  TrainerOptions options;            // the caller's
  TrainerState state = {};           // the position, as a checkpoint keeps it
  Ranks ranks = {};                  // the other processes
  TrainingTimes times = {};          // of this process so far
  double gradient_norm = 0;          // of the last step
  std::vector<int64_t> sample = {};  // TrainingTask::sample's of the present epoch; empty: all in their order
  std::string notice = {};           // is printed when the progress line is out of the way

  uint32_t step() const { return optimizer.parameters().step(); }  // taken by all processes of the run
  // The task's number of the epoch's window.
  int64_t chosen(int64_t window) const {
    return sample.empty() ? window : sample[static_cast<size_t>(window)];
  }
  double shown(double mean) const { return options.perplexity ? std::exp(mean) : mean; }  // a mean loss
  double mean_loss() const {  // so far in the present epoch; a window may have nothing to predict
    return state.count > 0 ? state.total / static_cast<double>(state.count) : state.total;
  }
  void note(const std::string& line) { notice += (notice.empty() ? "" : "\n") + line; }  // adds to `notice`
  LossScale* loss_scale() {  // nullptr unless training is in fp16
    if (precision() != Precision::fp16)
      state.loss_scale.reset();
    else if (!state.loss_scale)
      state.loss_scale.emplace();
    return state.loss_scale ? &*state.loss_scale : nullptr;
  }
};

}  // namespace unroll
