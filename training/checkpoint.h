// Checkpoints: one safetensors file with all that is needed to continue a training as if it had never stopped.
//
//   RecurrentState state = model.lstm.zero_state(20);
//   Trainer trainer(adam, {.epochs = 10, .folder = "runs/mine", .checkpoints = {.every_minutes = 10}});
//   const TrainingTask task = {.windows = …, .loss = …,
//                              .carry = [&] { state = next; },
//                              .carried = {{"h", state.h}, {"c", state.c}}};
//   const SignalGuard guard;           // Ctrl-C finishes the step, saves, and run() throws Interrupted
//   trainer.resume(task);              // from the folder's checkpoint, if there is one
//   trainer.run(task);
//
// `last.safetensors` is written after each epoch, and more often if CheckpointOptions say so, always between two optimizer
// steps, so there is no gradient to keep. `best.safetensors` is written after an epoch with the best score.
//
// Weights have the names of PyTorch's state_dict (state_dict.h), and the values that validation scored: the averages,
// if the optimizer keeps any. All other names begin with "training/": the optimizer's slabs by parameter, the weights
// themselves if the model's are averages, and what the task carries. Counters and sums are JSON in the metadata and read back
// with the same bits. Time is not kept, so two runs with the same results write the same file.
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

constexpr const char* last_checkpoint = "last.safetensors";  // in a run's folder
constexpr const char* best_checkpoint = "best.safetensors";  // of the epoch with the best validation score
std::string kept_checkpoint(int epoch);                      // "epoch-3.safetensors"

// When a run is saved, and what stands beside the weights.
struct CheckpointOptions {
  int64_t every_steps = 0;    // after so many steps of the optimizer; 0: only after an epoch
  double every_minutes = 0;   // after a step, if the last save is so long ago; 0: only after an epoch
  int keep_every_epochs = 0;  // after so many epochs one more that stays, kept_checkpoint(epoch); 0: none
  Metadata metadata = {};     // the program's own; not "format", "training", "checkpoint_version"
  // Keys of `metadata` that say what the weights were trained on. If a trainer saves weights untrained that it has
  // read, these keys stay as in the file read, also if missing there.
  std::vector<std::string> of_weights = {};
  // Further weights to write, which share memory with a parameter (a tied decoder). They are not read back.
  std::vector<NamedTensor> also = {};
};

// The position of a training, without weights and optimizer.
struct TrainerState {
  int epoch = 0;                        // epochs that are complete
  int64_t window = 0;                   // windows of the present epoch that are done …
  int64_t windows = 0;                  // … of so many
  double total = 0;                     // sums over those that are done
  int64_t count = 0;                    // predictions
  double interval_total = 0;            // the same since the last record of the log
  int64_t interval_count = 0;           // predictions
  int64_t all_count = 0;                // predictions of the epochs that are complete
  double learning_rate = 0;             // of the last step
  double train = 0;                     // of the last epoch: mean loss, or perplexity …
  std::optional<double> valid;          // … and validation score
  std::optional<double> best;           // validation score
  int best_epoch = 0;                   // the epoch that had it; 0: none
  double rate_factor = 1;               // by which rollbacks have cut the learning rate
  int64_t skipped = 0;                  // steps left out because they were not finite …
  int skipped_in_a_row = 0;             // … since the last that was
  std::optional<LossScale> loss_scale;  // of a training in fp16
  std::optional<Schedule> schedule;     // of the learning rate, with its state
  NonMonotoneTrigger trigger;           // of averaging, with its state

  // Read from a checkpoint: the next step's learning rate by the schedule that the run had. Empty in files of earlier
  // versions.
  std::optional<double> rate_expected;

  // The learning rate of optimizer step `step`. Requires: a schedule.
  double next_rate(int64_t step) const { return schedule->rate(epoch, step) * rate_factor; }

  // Whether `patience` epochs are complete after the best one. A patience of 0 never ends.
  bool out_of_patience(int patience) const {
    return patience > 0 && best_epoch > 0 && epoch - best_epoch >= patience;
  }
  // The error that says where in training something was not finite; `first`: what was it first, or "".
  Diverged diverged(int64_t at_window, const std::string& what, const std::string& first = "") const;
};

// Throws Error if the file cannot be written (disk full, a name that the format does not allow, …), and Diverged,
// naming a tensor that is not finite. The old file then stays. `carried` as in TrainingTask.
void write_checkpoint(const std::filesystem::path& path, Optimizer& optimizer, const TrainerState& state,
                      std::span<const NamedTensor> carried, const CheckpointOptions& options = {});

// Throws Error for names and metadata that write_checkpoint would refuse. Writes nothing: a check before training.
void check_checkpoint(const std::filesystem::path& path, Optimizer& optimizer, const TrainerState& state,
                      std::span<const NamedTensor> carried, const CheckpointOptions& options = {});

// Facts of a checkpoint that differ in this process and that bits depend on: "seed 1 then, 2 now", "momentum_buffer
// then, and not now". The number of threads is not among them. The caller compares the optimizer's settings and the
// precision.
using Differences = std::vector<std::string>;

// Restores weights, optimizer, `carried` and `state`, except for the numbers that describe the schedule and the
// trigger: these are the caller's. Throws InputError if the file is no checkpoint, cut off, of a later version, of
// another optimizer, or of other shapes (naming both). After an error do not rely on the old values.
Differences read_checkpoint(const SafetensorsFile& file, Optimizer& optimizer, TrainerState& state,
                            std::span<const NamedTensor> carried, const CheckpointOptions& options = {});
inline Differences read_checkpoint(const std::filesystem::path& path, Optimizer& optimizer,
                                   TrainerState& state, std::span<const NamedTensor> carried,
                                   const CheckpointOptions& options = {}) {
  return read_checkpoint(SafetensorsFile(path, Links::refused), optimizer, state, carried, options);
}

// The optimizer's step of a checkpoint; -1: there is none that can be read.
int64_t step_of(const std::filesystem::path& path);

// Throws InputError if a later version of the library wrote the file. Files without training state pass.
void check_checkpoint_version(const SafetensorsFile& file);

}  // namespace unroll
