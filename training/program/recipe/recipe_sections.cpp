#include "training/program/recipe/recipe_sections.h"

namespace unroll {

void declare_training_keys(RecipeReader& reader, TrainingSection& training, const ScheduleSection& schedule,
                           const RecipeKey::Condition& seed_cuts_windows) {
  reader.section("training", "The loop.");
  reader.key("epochs", training.epochs, "times that the training split is read")
      .at_least(1)
      .at_most(1'000'000)
      .harmless([&] { return !schedule.spreads(); });
  reader
      .key("accumulate", training.accumulate,
           "windows (of a series: batches of them) whose mean gradient makes one step")
      .at_least(1)
      .may_change();
  reader
      .key(
          "shards", training.shards,
          "parts of a batch whose gradients are computed by themselves and summed in a fixed order: any number of "
          "processes that divides it can share them, with the same bits")
      .at_least(1)
      .at_most(4096)
      .may_change();
  reader.key("clip", training.clip, "a step's gradient is scaled down to this norm; 0: never")
      .at_least(0)
      .may_change();
  reader
      .key(
          "precision", training.precision,
          "numbers of the matrix products; tf32, fp16: on a GPU; auto: bf16 where the device multiplies such numbers. "
          "Weights and sums are fp32 in any case; fp16 scales the loss, and leaves out steps whose gradient overflows")
      .one_of({"fp32", "tf32", "bf16", "fp16", "auto"})
      .rescores();
  reader.key("seed", training.seed, "of first values and dropout masks")
      .at_least(0)
      .may_change()
      .cuts_windows(seed_cuts_windows);
  reader
      .key(
          "init_from", training.init_from,
          "a model's file of the same program: training begins with its weights; \"\": with first values that are drawn")
      .fixed();
  reader
      .key("deterministic", training.deterministic,
           "refuses cuDNN before version 9 unless CUBLAS_WORKSPACE_CONFIG promises the same bits in each run")
      .may_change();
  reader
      .choice("keep", training.keep, {{"last", Keep::last}, {"best", Keep::best}},
              "which weights are scored on the test split: those after the last epoch, or those of the "
              "best valid score")
      .harmless();
  reader
      .key("patience", training.patience,
           "training ends after so many epochs without a better valid score; 0: never")
      .at_least(0)
      .unit("epochs")
      .harmless();
  reader
      .choice(
          "on_divergence", training.on_divergence,
          {{"stop", OnDivergence::stop}, {"skip", OnDivergence::skip}, {"rollback", OnDivergence::rollback}},
          "when a loss or gradient is not finite: end with an error; leave the step out; go back to the best "
          "checkpoint and on at half the learning rate")
      .harmless();
  reader
      .key("save_every_steps", training.save_every_steps,
           "a checkpoint after so many steps, besides that after each epoch; 0: none")
      .at_least(0)
      .unit("steps")
      .harmless();
  reader
      .key("save_every_minutes", training.save_every_minutes,
           "a checkpoint when the last one is so old, besides that after each epoch; 0: none")
      .at_least(0)
      .unit("minutes")
      .harmless();
  reader
      .key("keep_every_epochs", training.keep_every_epochs,
           "a checkpoint that stays after so many epochs, epoch-N.safetensors; 0: none")
      .at_least(0)
      .unit("epochs")
      .harmless();
  reader
      .key("log_every", training.log_every,
           "a record of the log, and a point of the report's curves, for so many steps")
      .at_least(1)
      .unit("steps")
      .harmless();
}

void declare_optimizer_keys(RecipeReader& reader, OptimizerSection& optimizer) {
  reader.section("optimizer", "The rule of a step.");
  reader
      .choice("kind", optimizer.kind,
              {{"sgd", OptimizerKind::sgd},
               {"adam", OptimizerKind::adam},
               {"adamw", OptimizerKind::adamw},
               {"asgd", OptimizerKind::asgd},
               {"rmsprop", OptimizerKind::rmsprop},
               {"lion", OptimizerKind::lion}},
              "stochastic gradient descent, Adam, Adam with decoupled decay, averaged SGD, RMSprop, Lion")
      .fixed();
  reader.key("learning_rate", optimizer.learning_rate, "size of a step").above(0).may_change();
  reader.key("momentum", optimizer.momentum, "sgd, rmsprop: part of the last step's direction that is kept")
      .at_least(0)
      .below(1)
      .may_change();
  reader.key("nesterov", optimizer.nesterov, "sgd: look ahead along the momentum").may_change();
  reader.key("beta1", optimizer.beta1, "adam, adamw, lion: decay of the gradient's mean")
      .at_least(0)
      .below(1)
      .may_change();
  reader
      .key("beta2", optimizer.beta2,
           "adam, adamw: decay of the gradient's mean square; lion: of the mean that is kept")
      .at_least(0)
      .below(1)
      .may_change();
  reader.key("epsilon", optimizer.epsilon, "adam, adamw, rmsprop: added to the root of the mean square")
      .at_least(1e-30)  // a float still, not 0
      .may_change();
  reader.key("alpha", optimizer.alpha, "rmsprop: decay of the gradient's mean square")
      .at_least(0)
      .below(1)
      .may_change();
  reader.key("weight_decay", optimizer.weight_decay, "pull towards zero, of matrices only")
      .at_least(0)
      .may_change();
  reader
      .key(
          "average_decay", optimizer.average_decay,
          "all but asgd: the weights that are scored and kept are an average, of which each step keeps this part; 0: "
          "those of the last step")
      .at_least(0)
      .below(1)
      .may_change();
  reader
      .key("average_from", optimizer.average_from,
           "asgd: epoch from which weights are averaged; 0: from when valid scores have stopped to improve")
      .at_least(0)
      .unit("epochs")
      .fixed();
  reader
      .key("non_monotone", optimizer.non_monotone,
           "asgd: epochs looked back to find that scores have stopped to improve")
      .at_least(1)
      .unit("epochs")
      .source("Merity, Keskar, Socher 2018")
      .may_change();
}

UnreadKeys unread_training_keys(const TrainingSections& sections) {
  const auto& [training, optimizer, schedule] = sections;
  const OptimizerKind kind = optimizer.kind;
  const bool sgd = kind == OptimizerKind::sgd, asgd = kind == OptimizerKind::asgd,
             rmsprop = kind == OptimizerKind::rmsprop, lion = kind == OptimizerKind::lion,
             adam = kind == OptimizerKind::adam || kind == OptimizerKind::adamw;
  const bool step = schedule.kind == ScheduleKind::step, cosine = schedule.kind == ScheduleKind::cosine,
             cycle = schedule.kind == ScheduleKind::one_cycle;
  const char* of_others = "a schedule.kind other than \"one_cycle\"";
  UnreadKeys unread;
  unread.add_unless(sgd || rmsprop, "optimizer.kind = \"sgd\" or \"rmsprop\"", {"optimizer.momentum"},
                    optimizer.momentum != 0);
  if (sgd || rmsprop) unread.add_unless(!cycle, of_others, {"optimizer.momentum"}, optimizer.momentum != 0);
  if (adam || lion) unread.add_unless(!cycle, of_others, {"optimizer.beta1"});
  unread.add_unless(sgd, "optimizer.kind = \"sgd\"", {"optimizer.nesterov"}, optimizer.nesterov);
  unread.add_unless(adam || lion, "optimizer.kind = \"adam\", \"adamw\" or \"lion\"",
                    {"optimizer.beta1", "optimizer.beta2"});
  unread.add_unless(adam || rmsprop, "optimizer.kind = \"adam\", \"adamw\" or \"rmsprop\"",
                    {"optimizer.epsilon"});
  unread.add_unless(rmsprop, "optimizer.kind = \"rmsprop\"", {"optimizer.alpha"});
  unread.add_unless(!asgd, "an optimizer.kind other than \"asgd\"", {"optimizer.average_decay"},
                    optimizer.average_decay != 0);
  unread.add_unless(asgd, "optimizer.kind = \"asgd\"", {"optimizer.average_from"},
                    optimizer.average_from != 0);
  unread.add_unless(asgd && optimizer.average_from == 0,
                    "optimizer.kind = \"asgd\" with optimizer.average_from = 0", {"optimizer.non_monotone"});
  unread.add_unless(step, "schedule.kind = \"step\"", {"schedule.after"});
  unread.add_unless(step || schedule.kind == ScheduleKind::plateau, "schedule.kind = \"step\" or \"plateau\"",
                    {"schedule.factor"});
  unread.add_unless(!cycle, of_others, {"schedule.warmup"}, schedule.warmup != 0);
  unread.add_unless(cosine, "schedule.kind = \"cosine\"", {"schedule.minimum"}, schedule.minimum != 0);
  unread.add_unless(cycle, "schedule.kind = \"one_cycle\"",
                    {"schedule.phases", "schedule.start_divisor", "schedule.final_divisor",
                     "schedule.momentum_low", "schedule.momentum_high"});
  return unread;
}

// The momentum, or beta1, that an optimizer is made with: its own, or the schedule's.
static double momentum_of(const TrainingSections& sections, double own) {
  const ScheduleSection& schedule = sections.schedule;
  return schedule.kind == ScheduleKind::one_cycle ? schedule.momentum_high : own;
}

void check_training_keys(const RecipeReader& reader, const TrainingSections& sections) {
  const auto& [training, optimizer, schedule] = sections;
  for (const auto& [key, value] : {std::pair{"optimizer.momentum", optimizer.momentum},
                                   {"optimizer.beta1", optimizer.beta1},
                                   {"optimizer.beta2", optimizer.beta2},
                                   {"optimizer.alpha", optimizer.alpha},
                                   {"optimizer.average_decay", optimizer.average_decay},
                                   {"schedule.momentum_high", schedule.momentum_high}})
    if (static_cast<float>(value) >= 1) reader.refuse(key, "must be below 1; as float32 it rounds to that");
  if (optimizer.nesterov && momentum_of(sections, optimizer.momentum) == 0)
    reader.refuse(
        "optimizer.nesterov",
        fmt::format("needs {} above 0", schedule.kind == ScheduleKind::one_cycle ? "schedule.momentum_high"
                                                                                 : "optimizer.momentum"));
  if (optimizer.average_from > training.epochs)
    reader.refuse("optimizer.average_from",
                  fmt::format("must be an epoch of the {} (training.epochs)", training.epochs));
  if (schedule.warmup > 0 && schedule.warmup >= training.epochs)
    reader.refuse("schedule.warmup", fmt::format("must be less than training.epochs ({})", training.epochs));
  if (schedule.kind == ScheduleKind::cosine && schedule.minimum > optimizer.learning_rate)
    reader.refuse("schedule.minimum", "must not be above optimizer.learning_rate");
  if (schedule.kind != ScheduleKind::one_cycle) return;
  if (optimizer.kind == OptimizerKind::asgd)
    reader.refuse(
        "schedule.kind",
        "\"one_cycle\" moves a momentum, and optimizer.kind = \"asgd\" has none: sgd, adam, adamw, rmsprop and lion have");
  if (schedule.phases.size() != 4)
    reader.refuse("schedule.phases",
                  fmt::format("must be four lengths, up, down, further down, to the end; there {} {}",
                              schedule.phases.size() == 1 ? "is" : "are", schedule.phases.size()));
  if (schedule.final_divisor < schedule.start_divisor)
    reader.refuse("schedule.final_divisor",
                  fmt::format("must be at least schedule.start_divisor ({:g})", schedule.start_divisor));
  if (schedule.momentum_low > schedule.momentum_high)
    reader.refuse("schedule.momentum_low",
                  fmt::format("must not be above schedule.momentum_high ({:g})", schedule.momentum_high));
}

int64_t steps_of_epoch(const TrainingSections& sections, const EpochWindows& windows, int epoch) {
  return (windows.of(epoch) + sections.training.accumulate - 1) / sections.training.accumulate;
}

int64_t steps_of_epochs(const TrainingSections& sections, const EpochWindows& windows, int epochs) {
  int64_t steps = 0;
  for (int epoch = 1; epoch <= epochs; ++epoch) steps += steps_of_epoch(sections, windows, epoch);
  return steps;
}

static std::unique_ptr<Optimizer> optimizer_of_kind(const TrainingSections& sections, ParameterSet& params,
                                                    const EpochWindows& windows) {
  const auto& o = sections.optimizer;
  switch (o.kind) {
    case OptimizerKind::sgd:
      return std::make_unique<Sgd>(params, SgdConfig{.learning_rate = o.learning_rate,
                                                     .momentum = momentum_of(sections, o.momentum),
                                                     .nesterov = o.nesterov,
                                                     .weight_decay = o.weight_decay});
    case OptimizerKind::adam:
      return std::make_unique<Adam>(params, AdamConfig{.learning_rate = o.learning_rate,
                                                       .beta1 = momentum_of(sections, o.beta1),
                                                       .beta2 = o.beta2,
                                                       .eps = o.epsilon,
                                                       .weight_decay = o.weight_decay});
    case OptimizerKind::adamw:
      return std::make_unique<AdamW>(params, AdamWConfig{.learning_rate = o.learning_rate,
                                                         .beta1 = momentum_of(sections, o.beta1),
                                                         .beta2 = o.beta2,
                                                         .eps = o.epsilon,
                                                         .weight_decay = o.weight_decay});
    case OptimizerKind::rmsprop:
      return std::make_unique<Rmsprop>(params, RmspropConfig{.learning_rate = o.learning_rate,
                                                             .alpha = o.alpha,
                                                             .eps = o.epsilon,
                                                             .momentum = momentum_of(sections, o.momentum),
                                                             .weight_decay = o.weight_decay});
    case OptimizerKind::lion:
      return std::make_unique<Lion>(params, LionConfig{.learning_rate = o.learning_rate,
                                                       .beta1 = momentum_of(sections, o.beta1),
                                                       .beta2 = o.beta2,
                                                       .weight_decay = o.weight_decay});
    case OptimizerKind::asgd:
      break;
  }
  const int64_t average_after =
      o.average_from > 0 ? steps_of_epochs(sections, windows, o.average_from - 1) : AsgdConfig::never;
  return std::make_unique<Asgd>(params, AsgdConfig{.learning_rate = o.learning_rate,
                                                   .weight_decay = o.weight_decay,
                                                   .average_after = average_after});
}

std::unique_ptr<Optimizer> make_optimizer(const TrainingSections& sections, ParameterSet& params,
                                          const EpochWindows& windows) {
  std::unique_ptr<Optimizer> optimizer = optimizer_of_kind(sections, params, windows);
  if (sections.optimizer.average_decay > 0 && sections.optimizer.kind != OptimizerKind::asgd)
    optimizer->keep_average(sections.optimizer.average_decay);
  return optimizer;
}

int moments_of(const TrainingSections& sections) {
  const auto& o = sections.optimizer;
  const int average = o.average_decay > 0 && o.kind != OptimizerKind::asgd,
            velocity = momentum_of(sections, o.momentum) > 0;
  switch (o.kind) {
    case OptimizerKind::sgd:
      return velocity + average;
    case OptimizerKind::adam:
    case OptimizerKind::adamw:
      return 2 + average;
    case OptimizerKind::rmsprop:
      return 1 + velocity + average;
    case OptimizerKind::lion:
      return 1 + average;
    case OptimizerKind::asgd:
      break;
  }
  return 1;  // the average
}

}  // namespace unroll
