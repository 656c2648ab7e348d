// The outcome of a training, for suites that run ahead of a device.
#pragma once

#include <vector>

#include "tests/tiny_training.h"

namespace running_ahead {

using namespace unroll;

using Rule = TinyTraining::Setup::Rule;

struct Outcome {
  std::vector<real> weights, h;
  double total = 0, learning_rate = 0;
  int64_t count = 0, skipped = 0;
  uint32_t step = 0;
  bool operator==(const Outcome&) const = default;
};
inline Outcome outcome_of(const TinyTraining& t, const TrainerState& state) {
  return {t.params.values().to_host(),
          t.state.h.to_host(),
          state.train,
          t.optimizer->learning_rate(),
          state.all_count,
          state.skipped,
          t.params.step()};
}

inline TrainerOptions quietly(TrainerOptions options) {
  options.progress.mode = ProgressOptions::Mode::silent;
  options.clip = 0.5;
  options.epochs = 3;
  return options;
}

inline Outcome ahead(TinyTraining& t, const TrainerOptions& options, const TrainingTask& task) {
  Trainer trainer(*t.optimizer, options);
  TrainingTask whole = task;
  whole.after_epoch = [&](const EpochReport& report) {
    if (report.epoch == 1)
      if (auto* asgd = dynamic_cast<Asgd*>(t.optimizer.get())) asgd->start_averaging();
  };
  trainer.run(whole);
  return outcome_of(t, trainer.state());
}

}  // namespace running_ahead
