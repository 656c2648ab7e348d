#include "training/program/cli/explanations.h"

#include <array>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "framework/device.h"
#include "framework/gemm.h"
#include "framework/kernels/kernels.h"
#include "training/loss_scale.h"
#include "training/program/cli/console.h"
#include "training/program/run/machine.h"

namespace unroll {

RunDescription::Table engine_table(const EngineChoice& choice) {
  RunDescription::Table table{.title = "Engine",
                              .note = choice.text,
                              .columns = {"criterion", "value", "fits cudnn", "what it costs"}};
  for (const EngineReason& reason : choice.reasons)
    table.rows.push_back({reason.criterion, reason.value, std::string(name_of(reason.fits)), reason.verdict});
  return table;
}

void print_engine(const EngineChoice& choice) {
  RunDescription::Table table = engine_table(choice);
  table.note.clear();  // it stands above
  const Console console;
  console.print("Engine: {}\n", choice.text), console.print(table), console.print("\n");
}

std::string describe_computing(const TrainingSection& training) {
  return fmt::format("{}, seed {}", describe_machine(), training.seed);
}

void print_products() {
  const std::string why = why_no_gpu();
  show("Device: {}\n", on_gpu()      ? fmt::format("{}, {}", name_of(device()), device_facts().name)
                       : why.empty() ? "cpu, since that was asked for: there is a GPU"
                                     : "cpu, since " + why);
  const std::string more =
      precision() == Precision::fp16
          ? fmt::format("; the loss is scaled, at first by {:g}", LossScale().scale)
      : precision() == Precision::fp32 && kernels().split_fp32.gemm
          ? "; of large ones each number is the sum of three in bfloat16, which is as exact"
          : "";
  show("Products: {}, by the kernels for {}{}\n\n", name_of(precision()), kernels().name, more);
}

// "learning rate 0.0005, up to 0.005 by epoch 7.5, down to 0.0005 by 45, to 5e-05 by 82.5 and to 5e-06 by 90"
static void print_cycle(const TrainingSections& sections, const Schedule& schedule) {
  std::array<double, 4> ends = schedule.phases;
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  for (double& end : ends) end *= sections.training.epochs / ends.back();
  const auto& [low, high] = schedule.momentum;
  show(
      "  learning rate {:.3g}, up to {:.3g} by epoch {:.3g}, down to {:.3g} by {:.3g}, to {:.3g} by {:.3g} and to "
      "{:.3g} by {}\n",
      schedule.start_rate, schedule.learning_rate, ends[0], schedule.start_rate, ends[1],
      std::sqrt(schedule.start_rate * schedule.final_rate), ends[2], schedule.final_rate,
      sections.training.epochs);
  show("  {} {:g}, down to {:g} by epoch {:.3g}, {:g} again from epoch {:.3g} on\n",
       sections.optimizer.kind == OptimizerKind::sgd ? "momentum" : "beta1", high, low, ends[0], high,
       ends[1]);
}

void print_learning_rate(const TrainingSections& sections, const EpochWindows& windows) {
  if (const std::string& file = sections.training.init_from; !file.empty())
    show("  begins with the weights of {}\n", file);
  const Schedule schedule = make_schedule(sections, windows);
  const std::string warmup =
      schedule.warmup > 0 ? fmt::format(", after a warm-up of {} steps", schedule.warmup) : "";
  if (schedule.kind == Schedule::Kind::plateau) {
    show("  learning rate {:g}, times {:g} when the valid score does not improve{}\n", schedule.learning_rate,
         sections.schedule.factor, warmup);
    return;
  }
  if (schedule.kind == Schedule::Kind::constant) {
    show("  learning rate {:g}{}\n", schedule.learning_rate, warmup);
    return;
  }
  if (schedule.kind == Schedule::Kind::one_cycle) return print_cycle(sections, schedule);
  show("  learning rate as epochs begin:");
  int64_t step = 0;
  for (int epoch = 0; epoch < sections.training.epochs; ++epoch) {
    show(" {:.3g}", schedule.rate(epoch, step));
    step += steps_of_epoch(sections, windows, epoch + 1);
  }
  show("\n");
}

}  // namespace unroll
