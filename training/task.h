// A task to train: its windows, their loss, and what else the trainer is to ask.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "framework/tape.h"
#include "optim/optimizer.h"
#include "training/checkpoint.h"
#include "training/ranks.h"
#include "training/report/log.h"
#include "training/shared_score.h"
#include "training/steps/shard_tree.h"

namespace unroll {

// A window's loss as the host knows it.
struct LossFacts {
  int64_t count = 0;       // predictions
  double rate_factor = 1;  // WindowLoss::rate_factor
};

// The loss of one window.
struct WindowLoss {
  Var objective;           // is differentiated
  Var mean;                // is reported: the mean over the predictions (nats, squared errors)
  int64_t count = 0;       // predictions (tokens, values)
  double rate_factor = 1;  // of the learning rate of the window's step; several windows: their mean
  double share = 1;        // a shard's count divided by that of the whole window
  // A shard's, in place of TrainingTask::carry. Called after its backward.
  std::function<void()> carry = {};
  LossFacts facts() const { return {count, rate_factor}; }  // those that the host knows
};
// For a mean over `count` predictions that is both minimised and reported.
inline WindowLoss mean_loss(const Var& mean, int64_t count) { return {mean, mean, count}; }

// An epoch's figures.
struct EpochReport {
  int epoch = 0;                     // counted from 1
  double learning_rate = 0;          // of its last step
  double train = 0;                  // mean loss, or perplexity
  std::optional<double> valid;       // the validation score, if there is one
  bool best = false;                 // the best `valid` so far
  int64_t count = 0;                 // predictions
  double seconds = 0;                // of training, by this process
  double rate = 0;                   // predictions per second
  int64_t skipped = 0;               // steps left out since their gradient overflowed in fp16
  std::vector<Scalar> metrics = {};  // the task's own
};

// A task to train. It needs no more than `windows` and `loss`. Several processes call all functions alike, unless one says otherwise.
struct TrainingTask {
  int64_t windows = 0;  // in an epoch
  // Replaces `windows` if epochs differ: cuts those of this epoch, counted from 1, and returns how many there are. May depend on
  // the epoch's number alone. Called before begin_epoch, and before training goes on in the middle of an epoch.
  std::function<int64_t(int epoch)> cut = {};
  // Returns the windows that an epoch takes, in its order: some may come twice, others not at all. Called after `cut`, under
  // the same rule.
  std::function<std::vector<int64_t>(int epoch)> sample = {};
  // Sets state to zero before the first window of an epoch, and not in the middle: `cut` sets what holds for an epoch and stands
  // in no checkpoint (Parameter::frozen).
  std::function<void(int epoch)> begin_epoch = {};
  // Recorded, with dropout. Called again for the same window if a gradient was not finite, or no graph of it could be recorded.
  std::function<WindowLoss(int64_t window)> loss = {};
  // Replaces `load` and `loss` if there are several shards: the loss of one shard of a window, over its own streams or its own
  // windows of a series, with its share. `objective` is empty if the shard has none. Each shard of a step has masks of its own.
  std::function<WindowLoss(int64_t window, const Shard& shard)> shard_loss = {};
  // Called before `loss`: brings the window's data to where `loss` finds them. Returns a number for the window's kind. `loss`
  // asks for the same operations for all windows of a kind, on memory in the same places and with the same constants (steps,
  // scored targets). A graph needs it.
  std::function<int64_t(int64_t window)> load = {};
  // Called between a step's last gradient and clipping. May change gradients, as ParameterSet::reduce_gradients does. They are
  // sums over the step's windows and over all shards; the mean is taken later. In fp16 the loss scale is in them. A graph
  // cannot record it if it reads on the host.
  std::function<void()> reduce_gradients = {};
  // Called after a window's gradients: takes what crosses to the next (`state = next`).
  std::function<void()> carry = {};
  // Returns the validation score, the lower the better. Nothing is recorded. Called again after a resumption if it throws
  // Interrupted (stop_if_signalled). Rank 0 alone calls it, unless `shared_validation` has parts.
  std::function<double()> validate = {};
  // Replaces `validate` if several processes share it. It must give the same bits.
  SharedScore shared_validation = SharedScore();
  // Whether epochs have a validation score.
  bool validates() const { return validate || shared_validation.parts > 0; }
  // Returns figures of your own after each epoch, with the weights that `validate` sees. They stand in the epoch's line, in
  // log, TensorBoard and report, each under a name of its own. Rank 0 alone calls it.
  std::function<std::vector<Scalar>()> metrics = {};
  // Called after each epoch, once it is saved, with the averaged weights if there are any. May throw Interrupted. Rank 0 alone
  // calls it.
  std::function<void(const EpochReport&)> after_epoch = {};
  // The buffers that `carry` writes, by names of their own: part of a checkpoint. A run with a folder must name them, and a task
  // whose steps are taken back: if the host is to run ahead of a GPU, or a step of several windows may be left out. With several
  // shards their dimension 1 is the streams: [layers, streams, …].
  std::vector<NamedTensor> carried = {};
  bool names_what_it_carries() const { return !carry || !carried.empty(); }  // or carries nothing
};

}  // namespace unroll
