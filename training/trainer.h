// The training loop: one for every program, and for a model of your own.
//
//   Adam adam(model.params, {.learning_rate = 1e-3});
//   Trainer trainer(adam, {.epochs = 10, .clip = 1, .perplexity = true});
//   BpttWindows windows(corpus.train, {.batch = 20, .steps = 35});
//   LstmState state = model.lstm.zero_state(20);
//   LstmVars next;
//   trainer.run({.windows = windows.count(),
//                .begin_epoch = [&](int) { state.reset(); },
//                .loss = [&](int64_t k) {
//                  const Window window = windows.at(k);
//                  auto out = model.lstm(model.embed(window.input), state);
//                  next = out.state;
//                  Var loss = softmax_cross_entropy(model.decoder, out.y, window.target);
//                  return mean_loss(loss, window.target.size());
//                },
//                .carry = [&] { state = next; },
//                .validate = [&] { return perplexity(model, corpus.valid); }});
//
// What is trained on is the task's affair: windows of text or of a series, whatever has a loss. The trainer
// knows the order of things: gradients of one or several windows, clipping, a step, what crosses to the next
// window; after an epoch the held-out score, the schedule, saving, a line for whoever is watching.
//
// The rate ("words/s") is what was predicted in training divided by the wall time of training; validation and
// saving are not counted. An epoch's training loss is taken as training went, with dropout and with weights
// still changing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "optim/optimizer.h"
#include "optim/schedule.h"
#include "training/progress.h"

namespace unroll::inline UNROLL_REAL {

// The loss of one window.
struct WindowLoss {
  Var objective;      // is differentiated
  double total = 0;   // what is reported: the sum over what was predicted (nats, squared errors) …
  int64_t count = 0;  // … and of how many (tokens, values)
};
// Of a mean over `count` predictions that is both minimised and reported.
WindowLoss mean_loss(const Var& mean, int64_t count);

struct EpochReport;

// What is to be trained. Only `windows` and `loss` are needed.
struct TrainingTask {
  int64_t windows = 0;  // of an epoch
  // Before the first window of an epoch, counted from 1: state to zero, a new order of the windows.
  std::function<void(int epoch)> begin_epoch = {};
  // Is recorded, with dropout.
  std::function<WindowLoss(int64_t window)> loss = {};
  // After a window's gradients: what crosses to the next (`state = next`).
  std::function<void()> carry = {};
  // The held-out score, the lower the better. Nothing is recorded.
  std::function<double()> validate = {};
  // After each epoch; `best` says whether it is the best so far.
  std::function<void(const EpochReport&)> save = {};
};

struct TrainerOptions {
  int epochs = 1;
  double clip = 0;                        // a step's gradient is scaled down to this norm; 0: never
  int accumulate = 1;                     // windows whose mean gradient makes one step
  std::optional<Schedule> schedule = {};  // without one the learning rate stays what the optimizer has
  // An Asgd starts to average when a held-out score is above the best of those more than this many epochs
  // back (NonMonotoneTrigger); 0: when is its own affair.
  int non_monotone = 0;
  bool perplexity = false;  // losses are nats: reported as their exp
  std::string unit = "words";
  ProgressOptions progress = {};   // .mode = silent: nothing is printed
  std::filesystem::path log = {};  // a file that gets a line of JSON after each epoch; empty: none
};

struct EpochReport {
  int epoch = 0;             // counted from 1
  double learning_rate = 0;  // of its first step
  double train = 0;          // mean loss, or perplexity
  std::optional<double> valid;
  bool best = false;   // the best `valid` so far
  int64_t count = 0;   // predictions
  double seconds = 0;  // of training
  double rate() const { return seconds > 0 ? static_cast<double>(count) / seconds : 0; }
};

// Where training stands: with the weights, the optimizer's state and what the task carries, all that is
// needed to go on.
struct TrainerState {
  int epoch = 0;       // epochs that are complete
  int64_t window = 0;  // windows of the present epoch that are done
  double total = 0;    // sums over those
  int64_t count = 0;
  double seconds = 0;
  double learning_rate = 0;  // of the epoch's first step
  int64_t all_count = 0;     // sums over the epochs that are complete
  double all_seconds = 0;
  std::optional<double> best;  // held-out score
  int best_epoch = 0;
  std::optional<Schedule> schedule;
  NonMonotoneTrigger trigger;
};

class Trainer {
 public:
  // The optimizer must outlive the trainer.
  explicit Trainer(Optimizer& optimizer, TrainerOptions options = {});

  // Trains up to options.epochs, from state(). Throws Error if a loss is not finite.
  void run(const TrainingTask& task);
  // From a callback: run() returns after the present epoch.
  void stop() { stopped_ = true; }

  const TrainerState& state() const { return state_; }
  void set_state(const TrainerState& state) { state_ = state; }
  const std::vector<EpochReport>& epochs() const { return epochs_; }
  int64_t count() const { return state_.all_count; }     // predictions of all complete epochs …
  double seconds() const { return state_.all_seconds; }  // … and the time they took
  double rate() const { return seconds() > 0 ? static_cast<double>(count()) / seconds() : 0; }

 private:
  void train_epoch(const TrainingTask& task);
  void train_window(const TrainingTask& task);
  EpochReport finish_epoch(const TrainingTask& task);
  void print(const EpochReport& report) const;
  void log(const EpochReport& report) const;
  // A mean loss as it is shown.
  double shown(double mean) const;

  Optimizer& optimizer_;
  TrainerOptions options_;
  TrainerState state_;
  std::vector<EpochReport> epochs_;
  bool stopped_ = false;
};

}  // namespace unroll::inline UNROLL_REAL
