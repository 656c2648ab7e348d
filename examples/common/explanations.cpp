#include "examples/common/explanations.h"

#include <fmt/format.h>

namespace unroll {

void print_engine(const LstmChoice& choice) {
  fmt::print("Engine: {}\n", name_of(choice.engine));
  for (const LstmReason& reason : choice.reasons)
    fmt::print("  {:<12}{:<12}{}\n", reason.criterion, reason.value, reason.verdict);
  fmt::print("\n");
}

void print_learning_rate(const TrainingSections& sections, int64_t windows) {
  const Schedule schedule = make_schedule(sections, windows);
  const int64_t steps = (windows + sections.training.accumulate - 1) / sections.training.accumulate;
  if (schedule.kind == Schedule::Kind::plateau) {
    fmt::print("  learning rate {:g}, times {:g} when the valid score does not improve\n",
               schedule.learning_rate, sections.schedule.factor);
    return;
  }
  if (schedule.kind == Schedule::Kind::constant) {
    fmt::print("  learning rate {:g}\n", schedule.learning_rate);
    return;
  }
  fmt::print("  learning rate as epochs begin:");
  for (int epoch = 0; epoch < sections.training.epochs; ++epoch)
    fmt::print(" {:.3g}", schedule.rate(epoch, epoch * steps));
  fmt::print("\n");
}

}  // namespace unroll
