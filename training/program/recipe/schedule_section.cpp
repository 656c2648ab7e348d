// The section [schedule], and the schedule that it makes. See recipe_sections.h.
#include <algorithm>
#include <cmath>

#include "training/program/recipe/recipe_sections.h"

namespace unroll {

void declare_schedule_keys(RecipeReader& reader, ScheduleSection& schedule) {
  reader.section("schedule", "The learning rate over time.");
  reader
      .choice(
          "kind", schedule.kind,
          {{"constant", ScheduleKind::constant},
           {"step", ScheduleKind::step},
           {"plateau", ScheduleKind::plateau},
           {"cosine", ScheduleKind::cosine},
           {"one_cycle", ScheduleKind::one_cycle}},
          "constant; step: times factor each epoch after the first so many; plateau: times factor when the valid "
          "score did not improve; cosine: half a cosine from the learning rate down to the minimum; one_cycle: up to "
          "the learning rate and down again, the momentum of sgd and rmsprop or beta1 of the others the other way")
      .may_change();
  reader.key("after", schedule.after, "step: epochs at the full learning rate")
      .at_least(0)
      .unit("epochs")
      .may_change();
  reader.key("factor", schedule.factor, "step, plateau: what the learning rate is multiplied by")
      .above(0)
      .at_most(1)
      .may_change();
  reader
      .key("warmup", schedule.warmup,
           "the learning rate rises evenly to what it would be, from just above 0, for so long")
      .at_least(0)
      .unit("epochs")
      .may_change();
  reader.key("minimum", schedule.minimum, "cosine: what the learning rate falls to").at_least(0).may_change();
  const char* smith = "Smith 2018";
  reader
      .key(
          "phases", schedule.phases,
          "one_cycle: how long its four phases are, relative to each other: up to the learning rate; down to "
          "where it began; further down, to the geometric mean of its beginning and its end; to the end")
      .above(0)
      .source("Gugger and Howard 2018")
      .may_change();
  reader
      .key("start_divisor", schedule.start_divisor,
           "one_cycle: it begins at the learning rate divided by this")
      .at_least(1)
      .source(smith)
      .may_change();
  reader
      .key("final_divisor", schedule.final_divisor, "one_cycle: it ends at the learning rate divided by this")
      .at_least(1)
      .source(smith)
      .may_change();
  reader
      .key(
          "momentum_low", schedule.momentum_low,
          "one_cycle: momentum of sgd and rmsprop, beta1 of the others, where the learning rate is at its top")
      .at_least(0)
      .below(1)
      .source(smith)
      .may_change();
  reader
      .key("momentum_high", schedule.momentum_high,
           "one_cycle: the same at its beginning and from phase 3 on")
      .at_least(0)
      .below(1)
      .source(smith)
      .may_change();
}

Schedule make_schedule(const TrainingSections& sections, const EpochWindows& windows) {
  const auto& s = sections.schedule;
  const int64_t total = std::max<int64_t>(steps_of_epochs(sections, windows, sections.training.epochs), 1);
  Schedule schedule{.kind = s.kind, .learning_rate = sections.optimizer.learning_rate};
  schedule.warmup = std::min<int64_t>(
      std::llround(s.warmup * static_cast<double>(steps_of_epoch(sections, windows, 1))), total - 1);
  switch (s.kind) {
    case ScheduleKind::constant:
      break;
    case ScheduleKind::step:
      schedule.after = s.after;
      schedule.factor = s.factor;
      break;
    case ScheduleKind::plateau:
      schedule.factor = 1 / s.factor;
      break;
    case ScheduleKind::cosine:
      schedule.total = total;
      schedule.final_rate = s.minimum;
      break;
    case ScheduleKind::one_cycle:
      schedule.total = total;
      schedule.start_rate = schedule.learning_rate / s.start_divisor;
      schedule.final_rate = schedule.learning_rate / s.final_divisor;
      std::ranges::copy(s.phases, schedule.phases.begin());
      schedule.momentum = {s.momentum_low, s.momentum_high};
      schedule.warmup = 0;
      break;
  }
  return schedule;
}

}  // namespace unroll
