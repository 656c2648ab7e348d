#include "training/steps/ahead_of_gpu.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "framework/kernels/kernels.h"
#include "framework/profile.h"

namespace unroll {

AheadOfGpu::AheadOfGpu(Training& training, const TrainingTask& task)
    : OnThisThread(training), ahead_(training.optimizer, task.carried, training.options.graph) {
  state_changed();
}

void AheadOfGpu::take(const TrainingTask& task) {
  Step step = next_step();
  ahead_.begin_step(training_.state, training_.times.count);
  Optimizer& optimizer = training_.optimizer;
  try {
    for (; step.window < step.end; ++step.window) {
      const std::string why_not = ahead_.ask(
          {.of_task = load(task, step),
           .part = step.part(),
           .last = step.is_last(),
           .signature = optimizer.step_signature(),
           .scale = step.scale},
          [&](const LossFacts& facts) { order(step, facts); }, [&] { return train_window(task, step); });
      if (!why_not.empty())
        training_.note(
            fmt::format("window {} is computed without a graph, and so is what else cannot be recorded: {}",
                        step.window + 1, why_not));
    }
    optimizer.finish_step();
    if (LossScale* const loss = training_.loss_scale()) loss->succeeded();
    add_to_totals(step);
  } catch (...) {  // the next run() begins this step again
    give_up(task, step);
    throw;
  }
  training_.state.window = step.end;
}

// A graph is a recording of this.
LossFacts AheadOfGpu::train_window(const TrainingTask& task, Step& step) {
  const double most = std::numeric_limits<double>::max(),
               largest = training_.options.perplexity ? std::log(most) : most;
  const WindowLoss loss = differentiate(task, step, {}, [&](const WindowLoss& of_window, Tape&) {
    kernels().add_loss(of_window.mean.value().data(), of_window.objective.value().data(),
                       static_cast<double>(of_window.count), largest, training_.optimizer.step_values());
  });
  if (!recording_graph()) order(step, loss.facts());  // else before the graph is played
  if (step.is_last()) {
    reduce_gradients(task);
    const Profile::Part part("optimizer step");
    training_.optimizer.enqueue_step();
  } else {
    (void)training_.optimizer.parameters()
        .contributed_gradients();  // whole, for the graph of the next window
  }
  if (task.carry) task.carry();
  return loss.facts();
}

// Sends the device what the host knows of a window. Runs once a window, even if a failed recording repeats it.
void AheadOfGpu::order(Step& step, const LossFacts& facts) {
  if (!count(step, facts)) return;
  if (step.is_last())
    training_.optimizer.order_step(options_of(step));
  else
    training_.optimizer.order_window();
}

std::optional<uint32_t> AheadOfGpu::look(const TrainingTask& task) {
  if (!ahead_.asked()) return {};
  const StepOutcome outcome = ahead_.look();
  if (const auto before = ahead_.failed(outcome)) {
    training_.state = before->state;
    training_.times.count = before->count;
    OnThisThread::take(task);
    state_changed();
    return before->step;
  }
  training_.state.total = outcome.total, training_.state.interval_total = outcome.interval_total;
  training_.gradient_norm = outcome.norm;
  return {};
}

}  // namespace unroll
