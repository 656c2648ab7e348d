#include "training/steps/ahead_of_gpu.h"
#include "training/steps/on_this_thread.h"

namespace unroll {

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
