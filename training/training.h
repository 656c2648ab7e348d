// A training as it stands: what the trainer, its steps and its records share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "optim/optimizer.h"
#include "training/checkpoint.h"
#include "training/loss_scale.h"
#include "training/ranks.h"
#include "training/trainer_options.h"

namespace unroll {

// Wall time of this process.
struct TrainingTimes {
  double training = 0, saving = 0, logging = 0;  // seconds
  int64_t count = 0;                             // predictions in training
  double rate() const { return training > 0 ? static_cast<double>(count) / training : 0; }
  TrainingTimes since(const TrainingTimes& then) const {
    return {training - then.training, saving - then.saving, logging - then.logging, count - then.count};
  }
};

struct Training {
  Optimizer& optimizer;
  TrainerOptions options;
  TrainerState state = {};
  Ranks ranks = {};
  TrainingTimes times = {};
  double gradient_norm = 0;          // of the last step
  std::vector<int64_t> sample = {};  // TrainingTask::sample's of the present epoch; empty: all in their order
  std::string notice = {};           // is printed when the progress line is out of the way

  uint32_t step() const { return optimizer.parameters().step(); }
  int64_t chosen(int64_t window) const;  // the task's number of the epoch's window
  double shown(double mean) const;       // a mean loss as it is shown
  double mean_loss() const;              // so far in the present epoch
  void note(const std::string& line) { notice += (notice.empty() ? "" : "\n") + line; }
  LossScale* loss_scale();  // nullptr unless training is in fp16
};

}  // namespace unroll
