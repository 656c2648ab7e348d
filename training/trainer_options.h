// The settings of a training.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "optim/schedule.h"
#include "training/checkpoint.h"
#include "training/report/progress.h"

namespace unroll {

// The answer to a step whose loss or gradient is not finite.
enum class OnDivergence : uint8_t {
  // Throw Diverged.
  stop,
  // Leave the step out: its windows change neither weights nor what is carried. Throws after 10 in a row.
  skip,
  // Go back to the checkpoint of the best epoch, or to the last one before there is a best one, and on from there at half the
  // learning rate. Throws after 10. After going back to the last one, bits depend on when it was saved.
  rollback
};

// Keys of a recipe that a window's memory is proportional to, with their values: {"data.batch", 20}.
using WindowSizes = std::vector<std::pair<std::string, int>>;

// The length, the way and the folder of a training.
struct TrainerOptions {
  int epochs = 1;
  double clip = 0;     // the norm of all gradients together is scaled down to this in each step; 0: never
  int accumulate = 1;  // windows whose mean gradient makes one step
  // Parts of a step whose gradients are computed by themselves. Any number of processes that divides it shares them.
  int shards = 1;
  std::optional<Schedule> schedule = {};  // without one the learning rate stays what the optimizer has
  // An Asgd starts to average when a validation score is above the best of those more than this many epochs
  // back (NonMonotoneTrigger); 0: it decides itself.
  int non_monotone = 0;
  int patience = 0;  // ends after so many epochs without a better validation score; 0: never
  OnDivergence on_divergence = OnDivergence::stop;  // what happens then
  bool perplexity = false;                          // losses are nats: reported as their exp
  std::string unit = "words";                       // of predictions, for the rate
  ProgressOptions progress = {};       // .mode = ProgressOptions::Mode::silent: nothing is printed
  std::filesystem::path folder = {};   // made if need be; gets log and checkpoints; empty: nothing is written
  CheckpointOptions checkpoints = {};  // when they are written
  int64_t log_every = 100;             // steps of an interval of the log
  WindowSizes window_sizes = {};       // for the advice where memory runs out
  // If true, a GPU's windows are recorded as CUDA graphs the second time that one of their kind comes, and played from then
  // on. The bits stay the same (with our own kernels and cuBLAS; not measured with cuDNN), and the host has less to do.
  // REQUIRES: TrainingTask::load, and a `loss` that reads nothing on the host. A window that cannot be recorded for another
  // reason (no memory) is computed as without, and one message says so.
  bool graph = false;
};

}  // namespace unroll
