// Checkpoints: all that is needed to go on with a training as if it had never stopped, in one safetensors
// file.
//
//   RecurrentState state = model.lstm.zero_state(20);
//   Trainer trainer(adam, {.epochs = 10, .folder = "runs/mine", .checkpoints = {.every_minutes = 10}});
//   const TrainingTask task = {.windows = …, .loss = …,
//                              .carry = [&] { state = next; },
//                              .carried = {{"h", state.h}, {"c", state.c}}};
//   const SignalGuard guard;           // Ctrl-C finishes the step, saves, and run() throws Interrupted
//   trainer.resume(task);              // where the folder has a checkpoint, from there
//   trainer.run(task);
//
// `last.safetensors` is written after each epoch and as often besides as CheckpointOptions say, always
// between two steps of the optimizer, so there is never a gradient to keep; `best.safetensors` after an epoch
// that scored best. Either is the old file or the whole new one at any moment.
//
// The weights stand in it under the names that PyTorch's state_dict has for them (state_dict.h), as
// validation saw them: where the optimizer keeps averages, those. The rest has names that begin with
// "training/", which other readers leave alone: the optimizer's slabs by parameter, under averages the
// weights themselves, and what the task carries. Counters and sums are JSON in the metadata, numbers written
// so that they read back in the same bits. Time is not kept, so two runs that computed the same have the same
// file.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "optim/optimizer.h"
#include "optim/schedule.h"
#include "training/files/safetensors.h"
#include "training/loss_scale.h"

namespace unroll {

constexpr const char *last_checkpoint = "last.safetensors", *best_checkpoint = "best.safetensors";
std::string kept_checkpoint(int epoch);  // "epoch-3.safetensors"

struct CheckpointOptions {
  int64_t every_steps = 0;   // after so many steps of the optimizer; 0: only after an epoch
  double every_minutes = 0;  // after a step, if the last save is so long ago; 0: only after an epoch
  int keep_every_epochs = 0;  // after so many epochs one more that stays, kept_checkpoint(epoch); 0: none
  Metadata metadata =
      {};  // of the program's own, kept in the file; not "format", "training", "checkpoint_version"
  // Keys of `metadata` that tell what the weights were trained on. Weights that a trainer has read and saves again untrained
  // keep what their file says of them, or does not say.
  std::vector<std::string> of_weights = {};
  // What validation found out about the weights: asked for each file that is written.
  std::function<Metadata()> validated = {};
  // Weights that the file is to have beside the parameters, sharing memory with one (a tied decoder); not
  // read.
  std::vector<NamedTensor> also = {};
};

// The position of a training, beside weights and optimizer.
struct TrainerState {
  int epoch = 0;        // epochs that are complete
  int64_t window = 0;   // windows of the present epoch that are done …
  int64_t windows = 0;  // … of so many
  double total = 0;     // sums over those that are done
  int64_t count = 0;
  double interval_total = 0;  // the same since the last record of the log
  int64_t interval_count = 0;
  int64_t all_count = 0;        // predictions of the epochs that are complete
  double learning_rate = 0;     // of the last step
  double train = 0;             // of the last epoch: mean loss, or perplexity …
  std::optional<double> valid;  // … and validation score
  std::optional<double> best;   // validation score
  int best_epoch = 0;
  // Of each of several models that are trained side by side (TrainingTask::members).
  struct Member {
    std::optional<double> best;  // validation score
    int best_epoch = 0;
  };
  std::vector<Member> members;
  double rate_factor = 1;               // by which rollbacks have cut the learning rate
  int64_t skipped = 0;                  // steps left out because they were not finite …
  int skipped_in_a_row = 0;             // … since the last that was
  std::optional<LossScale> loss_scale;  // of a training in fp16
  std::optional<Schedule> schedule;
  NonMonotoneTrigger trigger;

  // Read from a checkpoint: the learning rate of the next step by the schedule that the run had. None: an earlier version.
  std::optional<double> rate_expected;

  // The learning rate of the optimizer step `step`. There must be a schedule.
  double next_rate(int64_t step) const { return schedule->rate(epoch, step) * rate_factor; }
};

// Throws Error: disk full, a name that the format has no place for, …; Diverged naming a tensor that is not finite. The old file is then left as it
// was. `carried` as in TrainingTask.
void write_checkpoint(const std::filesystem::path& path, Optimizer& optimizer, const TrainerState& state,
                      std::span<const NamedTensor> carried, const CheckpointOptions& options = {});

// Throws Error as write_checkpoint would, because of names and metadata, and writes nothing: better known before training.
void check_checkpoint(const std::filesystem::path& path, Optimizer& optimizer, const TrainerState& state,
                      std::span<const NamedTensor> carried, const CheckpointOptions& options = {});

// Facts of a checkpoint that differ in this process and that bits depend on: "seed 1 then, 2 now",
// "momentum_buffer then, and not now". They do not depend on the number of threads. How the optimizer is set, and the
// precision, is the caller's to compare.
using Differences = std::vector<std::string>;

// Puts everything back where it was: weights, optimizer, `carried`, and of `state` all but the numbers that
// describe its schedule and trigger, which are the caller's. Throws InputError: no checkpoint, cut off, of a
// later version, of another optimizer, of other shapes (naming both). Do not rely on the old values after an error.
Differences read_checkpoint(const std::filesystem::path& path, Optimizer& optimizer, TrainerState& state,
                            std::span<const NamedTensor> carried, const CheckpointOptions& options = {},
                            Links links = Links::refused);

// Throws InputError if a later version of the library wrote the file. Files without training state pass.
void check_checkpoint_version(const SafetensorsFile& file);

}  // namespace unroll
