// The sections of every trainer's recipes: [training], [optimizer] and [schedule]. Makes the library's optimizer and
// schedule from them.
//
//   struct Recipe {
//     struct { int hidden = 32; } model;
//     TrainingSection training;
//     OptimizerSection optimizer;
//     ScheduleSection schedule;
//     TrainingSections sections() const { return {training, optimizer, schedule}; }
//   };
//   reader.section("model", "The network.");
//   …
//   declare_training_keys(reader, recipe.training, recipe.schedule, [] { return false; });
//   declare_optimizer_keys(reader, recipe.optimizer);
//   declare_schedule_keys(reader, recipe.schedule);
//
// To add keys of its own to a section, a program names the section again. The fields' values at declaration are the
// program's defaults.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "optim/optimizer.h"
#include "optim/schedule.h"
#include "training/program/recipe/recipe_reader.h"
#include "training/trainer.h"

namespace unroll {

// optimizer.kind
enum class OptimizerKind : uint8_t { sgd, adam, adamw, asgd, rmsprop, lion };
using ScheduleKind = Schedule::Kind;       // schedule.kind
enum class Keep : uint8_t { last, best };  // whose weights a finished training has

// The keys of [training], by their names; docs/recipes.md explains them.
struct TrainingSection {
  int epochs = 13, accumulate = 1, shards = 1;
  double clip = 5;
  std::string precision = "fp32";
  uint64_t seed = 1;
  std::string init_from = {};
  bool deterministic = false;
  Keep keep = Keep::last;
  int patience = 0;
  OnDivergence on_divergence = OnDivergence::stop;
  int64_t save_every_steps = 0;
  double save_every_minutes = 10;
  int keep_every_epochs = 0;
  int64_t log_every = 100;
};
// The keys of [optimizer], by their names; docs/recipes.md explains them.
struct OptimizerSection {
  OptimizerKind kind = OptimizerKind::sgd;
  double learning_rate = 1, momentum = 0;
  bool nesterov = false;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, alpha = 0.99, weight_decay = 0;
  double average_decay = 0;
  int average_from = 0, non_monotone = 5;
};
// The keys of [schedule], by their names; docs/recipes.md explains them.
struct ScheduleSection {
  ScheduleKind kind = ScheduleKind::constant;
  int after = 4;
  double factor = 0.5;
  double warmup = 0, minimum = 0;
  std::vector<double> phases = {1, 5, 5, 1};
  double start_divisor = 10, final_divisor = 1000;
  double momentum_low = 0.85, momentum_high = 0.95;
  bool spreads() const {  // over all epochs: with more of them it is another one
    return kind == ScheduleKind::cosine || kind == ScheduleKind::one_cycle;
  }
};
// The three sections of a recipe: training, optimizer, schedule. Requires: the recipe outlives them.
struct TrainingSections {
  const TrainingSection& training;
  const OptimizerSection& optimizer;
  const ScheduleSection& schedule;
};

// declare_training_keys, declare_optimizer_keys, declare_schedule_keys: keys over the fields. A schedule that spreads over the
// epochs changes with their number. `seed_cuts_windows`: true if training.seed decides where windows begin, or their order.
void declare_training_keys(RecipeReader& reader, TrainingSection& training, const ScheduleSection& schedule,
                           const RecipeKey::Condition& seed_cuts_windows);
void declare_optimizer_keys(RecipeReader& reader, OptimizerSection& optimizer);
void declare_schedule_keys(RecipeReader& reader, ScheduleSection& schedule);
// The keys of [optimizer] and [schedule] that have no effect with the chosen kinds. A recipe's unread keys begin with
// them.
UnreadKeys unread_training_keys(const TrainingSections& sections);
// Checks the rules between these keys. Throws InputError.
void check_training_keys(const RecipeReader& reader, const TrainingSections& sections);

// The number of windows of an epoch, counted from 1: one number for all epochs, or a function.
struct EpochWindows {
  EpochWindows(int64_t windows) : of([=](int) { return windows; }) {}
  EpochWindows(std::function<int64_t(int epoch)> windows) : of(std::move(windows)) {}
  std::function<int64_t(int epoch)> of;
};
// steps_of_epoch: optimizer steps in an epoch; steps_of_epochs: in the first `epochs` epochs.
int64_t steps_of_epoch(const TrainingSections& sections, const EpochWindows& windows, int epoch);
int64_t steps_of_epochs(const TrainingSections& sections, const EpochWindows& windows, int epochs);

// The optimizer that a recipe names, for these parameters. Throws InputError.
std::unique_ptr<Optimizer> make_optimizer(const TrainingSections& sections, ParameterSet& params,
                                          const EpochWindows& windows);
// Numbers that the optimizer keeps per weight, from its first step or its first average on.
int moments_of(const TrainingSections& sections);
Schedule make_schedule(const TrainingSections& sections,
                       const EpochWindows& windows);  // that [schedule] describes

}  // namespace unroll
