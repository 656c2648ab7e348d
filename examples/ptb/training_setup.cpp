#include "training_setup.h"

#include <algorithm>
#include <cmath>

namespace ptb {

static int64_t steps_of(const Recipe& recipe, int64_t windows) {
  return (windows + recipe.training.accumulate - 1) / recipe.training.accumulate;
}

std::unique_ptr<Optimizer> make_optimizer(const Recipe& recipe, ParameterSet& params, int64_t windows) {
  const auto& o = recipe.optimizer;
  switch (o.kind) {
    case OptimizerKind::sgd:
      return std::make_unique<Sgd>(params, SgdConfig{.learning_rate = o.learning_rate,
                                                     .momentum = o.momentum,
                                                     .nesterov = o.nesterov,
                                                     .weight_decay = o.weight_decay});
    case OptimizerKind::adam:
      return std::make_unique<Adam>(params, AdamConfig{.learning_rate = o.learning_rate,
                                                       .beta1 = o.beta1,
                                                       .beta2 = o.beta2,
                                                       .eps = o.epsilon,
                                                       .weight_decay = o.weight_decay});
    case OptimizerKind::adamw:
      return std::make_unique<AdamW>(params, AdamWConfig{.learning_rate = o.learning_rate,
                                                         .beta1 = o.beta1,
                                                         .beta2 = o.beta2,
                                                         .eps = o.epsilon,
                                                         .weight_decay = o.weight_decay});
    case OptimizerKind::asgd:
      break;
  }
  const int64_t average_after =
      o.average_from > 0 ? (o.average_from - 1) * steps_of(recipe, windows) : AsgdConfig::never;
  return std::make_unique<Asgd>(params, AsgdConfig{.learning_rate = o.learning_rate,
                                                   .weight_decay = o.weight_decay,
                                                   .average_after = average_after});
}

Schedule make_schedule(const Recipe& recipe, int64_t windows) {
  const auto& s = recipe.schedule;
  const int64_t steps = steps_of(recipe, windows);
  Schedule schedule{.learning_rate = recipe.optimizer.learning_rate};
  switch (s.kind) {
    case ScheduleKind::constant:
      break;
    case ScheduleKind::step:
      schedule.kind = Schedule::Kind::step;
      schedule.after = s.after;
      schedule.factor = s.factor;
      break;
    case ScheduleKind::plateau:
      schedule.kind = Schedule::Kind::plateau;
      schedule.factor = 1 / s.factor;
      break;
    case ScheduleKind::cosine:
      schedule.kind = Schedule::Kind::cosine;
      schedule.total = std::max<int64_t>(steps * recipe.training.epochs, 1);
      schedule.warmup =
          std::min<int64_t>(std::llround(s.warmup * static_cast<double>(steps)), schedule.total - 1);
      schedule.final_rate = s.minimum;
      break;
  }
  return schedule;
}

}  // namespace ptb
