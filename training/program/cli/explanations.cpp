#include "training/program/cli/explanations.h"

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

void print_learning_rate(const TrainingSections& sections, const EpochWindows& windows) {
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
  show("  learning rate as epochs begin:");
  int64_t step = 0;
  for (int epoch = 0; epoch < sections.training.epochs; ++epoch) {
    show(" {:.3g}", schedule.rate(epoch, step));
    step += steps_of_epoch(sections, windows, epoch + 1);
  }
  show("\n");
}

}  // namespace unroll
