// The training loop: one for every program, and for a model of your own.
//
//   Adam adam(model.params, {.learning_rate = 1e-3});
//   Trainer trainer(adam, {.epochs = 10, .clip = 1, .perplexity = true});
//   BpttWindows windows(corpus.train, {.batch = 20, .steps = 35});
//   RecurrentState state = model.lstm.zero_state(20);
//   RecurrentVars next;
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
// The task (task.h) decides what is trained on. The trainer knows the order of things: gradients of one or several windows,
// clipping, a step, and what crosses to the next window; after an epoch the validation score, the schedule, the log, a
// checkpoint, and a line for whoever is watching. How a step is made, in one process or several, on a CPU or a GPU, is behind
// steps/steps.h. With a folder, the run can be interrupted and goes on in the same bits: checkpoint.h shows how.
//
// The rate ("words/s") leaves out validation and saving. An epoch's training loss is taken as training went, with dropout and
// with weights still changing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "training/records.h"
#include "training/steps/steps.h"

namespace unroll {

// Whether a run's folder has a checkpoint to go on from. If the training was killed between the two files of an epoch, the best
// one is of a later step than the last, and becomes the last. Throws InputError, which ends with `advice`, if more than that is
// there and the last is missing.
bool has_last_checkpoint(const std::filesystem::path& folder, const LogNames& names,
                         const std::function<std::string(bool has_best)>& advice = {});

class Trainer {
 public:
  // The optimizer must outlive the trainer.
  explicit Trainer(Optimizer& optimizer, TrainerOptions options = {});
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // Goes on from the folder's last checkpoint, if there is one: run() then trains the rest. The log is cut to it. Throws
  // InputError as read_checkpoint and has_last_checkpoint, and if the epoch it stands in has other windows than the task, or is
  // beyond the last one. A learning rate that jumps is among the differences.
  std::optional<Differences> resume(const TrainingTask& task);

  // Call it after resume() if the data or the way of scoring changed. Scores the best and the last weights by `task.validate`,
  // keeps the better ones as the best, and writes both checkpoints. The plateau and averaging forget older scores; patience
  // counts from the best epoch. Without `validate` no epoch is the best. Throws as run().
  void score_anew(const TrainingTask& task);

  // Trains until finished(). Throws Error if the folder has a run that resume() was not asked for, and if a checkpoint or the
  // log cannot be written. Throws Diverged. Throws Interrupted after a signal, once the complete steps are saved. A step of
  // several windows is then given up between two of them, and resumption begins it again.
  void run(const TrainingTask& task);
  // From a callback: run() returns after the present epoch.
  void stop() { stopped_ = true; }
  // True if all epochs are complete, or if patience is at its end between two epochs.
  bool finished() const {
    return state_.epoch >= options_.epochs || (state_.window == 0 && out_of_patience());
  }
  bool out_of_patience() const { return state_.out_of_patience(options_.patience); }  // for TrainerOptions

  const TrainerState& state() const& { return state_; }
  TrainerState state() const&& { return state_; }
  void set_state(const TrainerState& state) { state_ = state; }        // to go on from
  const std::vector<EpochReport>& epochs() const& { return epochs_; }  // that this process completed
  std::vector<EpochReport> epochs() const&& { return epochs_; }
  // Lines that say that resume() found no log, or which lines of a damaged one it left out.
  std::vector<std::string> damaged_log() const { return records_.damaged(); }
  int64_t count() const { return state_.all_count; }  // predictions of all complete epochs

  using Times = TrainingTimes;                             // see times()
  const Times& times() const& { return training_.times; }  // of this process
  Times times() const&& { return training_.times; }
  // By this process, in this run().
  ExchangedGradients exchanged() const { return steps_ ? steps_->exchanged() : ExchangedGradients(); }

 private:
  // Throws Error if the task cannot be trained with these options, or in this folder.
  void check(const TrainingTask& task) const;
  void begin(const TrainingTask& task);
  int64_t windows_of(const TrainingTask& task);  // of the present epoch: how many are taken
  void train_epoch(const TrainingTask& task);
  bool is_time_to_look(const Progress& progress) const;
  void finish_epoch(const TrainingTask& task);
  double score(const TrainingTask& task, int64_t window);  // by validation. Throws Diverged
  void validate(const TrainingTask& task, EpochReport& report);
  void add_metrics(const TrainingTask& task, EpochReport& report);

  bool has_checkpoint(const char* name) const;  // rank 0's folder
  Differences load(const TrainingTask& task, const char* name);
  void save(const TrainingTask& task, const char* name);
  bool save_is_due(bool stepped) const;  // stepped: the last windows did make a step
  void roll_back(const TrainingTask& task, const Diverged& reason);
  void note_rate_change(Differences& differences) const;

  Training training_;
  Optimizer& optimizer_ = training_.optimizer;
  const TrainerOptions& options_ = training_.options;
  TrainerState& state_ = training_.state;
  Ranks& ranks_ = training_.ranks;
  Records records_{training_};
  std::unique_ptr<Steps> steps_;  // of the present run()
  // Facts of the file that the weights were read from, until they are trained further
  // (CheckpointOptions::of_weights).
  std::optional<Metadata> of_untrained_;
  std::vector<EpochReport> epochs_;
  bool stopped_ = false;
};

}  // namespace unroll
