// Which steps a training takes, and whether options, task and device go together.
#include <fmt/ranges.h>

#include "framework/processes/processes.h"
#include "training/steps/ahead_of_gpu.h"

namespace unroll {

void check_options(const TrainerOptions& options, Optimizer& optimizer) {
  require(options.epochs >= 0, "trainer: {} epochs are less than none", options.epochs);
  require(options.accumulate >= 1, "trainer: accumulate {} must be at least 1", options.accumulate);
  require(options.shards >= 1, "trainer: shards {} must be at least 1", options.shards);
  require(options.shards % process_count() == 0,
          "trainer: {} processes were started, and TrainerOptions::shards is {}: {} can share them",
          process_count(), options.shards, fmt::join(processes_for(options.shards), ", "));
  require(options.clip >= 0, "trainer: clip {} is negative", options.clip);
  require(options.patience >= 0, "trainer: patience {} is negative", options.patience);
  require(options.log_every >= 1, "trainer: log_every {} must be at least 1", options.log_every);
  require(options.non_monotone >= 0, "trainer: non_monotone {} is negative", options.non_monotone);
  require(options.non_monotone == 0 || dynamic_cast<Asgd*>(&optimizer),
          "trainer: non_monotone is for an Asgd; {} keeps no averages", optimizer.name());
  require(options.on_divergence != OnDivergence::rollback || !options.folder.empty(),
          "trainer: a rollback needs a folder with checkpoints");
  const CheckpointOptions& saves = options.checkpoints;
  require(saves.every_steps >= 0, "trainer: a checkpoint after {} steps is none", saves.every_steps);
  require(saves.every_minutes >= 0, "trainer: a checkpoint after {} minutes is none", saves.every_minutes);
  require(saves.keep_every_epochs >= 0, "trainer: a checkpoint after {} epochs is none",
          saves.keep_every_epochs);
  if (const auto& schedule = options.schedule) {
    schedule->check();
    if (const auto momentum = schedule->momentum_at(0)) optimizer.set_momentum(*momentum);  // or says why not
  }
}

void check_steps(const TrainerOptions& options, const TrainingTask& task) {
  require((task.windows > 0 || task.cut) && (task.loss || options.shards > 1),
          "trainer: a task needs windows and a loss");
  if (options.shards > 1) {
    require(task.shard_loss != nullptr,
            "trainer: {} shards need a task with the loss of one (TrainingTask::shard_loss)", options.shards);
    require(task.names_what_it_carries(),
            "trainer: shards need a task that says what it carries (TrainingTask::carried)");
    for (const auto& [name, tensor] : task.carried)
      require(tensor.rank() >= 2, "trainer: of '{}' {}, which is carried, dimension 1 is to be the streams",
              name, tensor.shape());
    require(!options.graph, "trainer: a graph is of whole windows, and these are computed in {} shards",
            options.shards);
  }
  if (options.graph) {
    require(on_gpu(), "trainer: only a GPU plays a step as a graph, and the device is {}", name_of(device()));
    require(task.load != nullptr,
            "trainer: a graph needs a task that loads its windows (TrainingTask::load)");
    require(task.names_what_it_carries(),
            "trainer: a graph needs a task that says what it carries (TrainingTask::carried)");
  }
}

std::unique_ptr<Steps> choose_steps(Training& training, const TrainingTask& task) {
  if (training.options.shards > 1) return steps_in_shards(training);
  if (on_gpu() && task.names_what_it_carries()) return std::make_unique<AheadOfGpu>(training, task);
  return std::make_unique<OnThisThread>(training);
}

}  // namespace unroll
