// The trainer on a GPU: steps that are asked for without waiting for what became of the last.
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "framework/kernels/kernels.h"
#include "framework/profile.h"
#include "training/trainer.h"

namespace unroll {

// As train_step, which is what happens again to a step that failed.
void Trainer::ask_for_step(const TrainingTask& task) {
  const int64_t begin = state_.window, end = std::min(begin + options_.accumulate, state_.windows);
  double rate_factor = 0;
  int64_t count = 0;
  LossScale* const loss = loss_scale();
  ahead_->begin_step(state_, times_.count);
  for (int64_t window = begin; window < end; ++window) {
    const bool last = window + 1 == end;
    bool ordered = false;  // a window whose recording fails is asked for once more
    const auto order = [&](const RunAhead::WindowFacts& facts) {
      if (std::exchange(ordered, true)) return;
      count += facts.count;
      rate_factor += facts.rate_factor;
      if (last)
        optimizer_.order_step(next_step(end - begin, rate_factor));
      else
        optimizer_.order_window();
    };
    const auto part = static_cast<uint32_t>(window - begin);
    try {
      const std::string why_not =
          ahead_->ask({.of_task = task.load ? task.load(window) : 0,
                       .part = part,
                       .last = last,
                       .form = optimizer_.form(),
                       .scale = loss ? loss->scale : 1},
                      order, [&] { return ask_for_window(task, window, part, order, last); });
      if (!why_not.empty())
        note(fmt::format("window {} is computed without a graph, and so is what else cannot be recorded: {}",
                         window + 1, why_not));
    } catch (...) {
      optimizer_.parameters().spend_gradients();
      throw;
    }
  }
  optimizer_.finish_step();
  if (loss) loss->succeeded();
  state_.count += count, state_.interval_count += count, times_.count += count;
  state_.skipped_in_a_row = 0;
  state_.window = end;
}

// What a graph is a recording of: then the order was given before.
RunAhead::WindowFacts Trainer::ask_for_window(const TrainingTask& task, int64_t window, uint32_t part,
                                              const std::function<void(const RunAhead::WindowFacts&)>& order,
                                              bool last) {
  const double largest =
      options_.perplexity ? std::log(std::numeric_limits<double>::max()) : std::numeric_limits<double>::max();
  RunAhead::WindowFacts facts;
  {
    Tape tape({.part = part});
    try {
      const WindowLoss loss = task.loss(window);
      check_count(loss, window);
      facts = {loss.count, loss.rate_factor};
      kernels().add_loss(loss.mean.value().data(), loss.objective.value().data(),
                         static_cast<double>(loss.count), largest, optimizer_.step_values());
      tape.backward(loss.objective, loss_scale() ? static_cast<real>(loss_scale()->scale) : 1);
    } catch (const MemoryRefused& refusal) {
      if (recording_graph()) throw;  // it may well fit without
      throw OutOfMemory(memory_advice(refusal, tape, bytes_of_slabs(), options_.window_sizes));
    }
  }
  if (!recording_graph()) order(facts);
  if (last) {
    const Profile::Part part_of_step("optimizer step");
    optimizer_.enqueue_step();
  }
  if (task.carry) task.carry();
  return facts;
}

std::optional<uint32_t> Trainer::catch_up(const TrainingTask& task) {
  if (!ahead_->asked()) return {};
  const StepOutcome outcome = ahead_->look();
  if (const auto before = ahead_->failed(outcome)) {
    state_ = before->state;
    times_.count = before->count;
    train_step(task);
    ahead_->set_totals(state_);
    return before->step;
  }
  state_.total = outcome.total, state_.interval_total = outcome.interval_total;
  gradient_norm_ = outcome.norm;
  return {};
}

}  // namespace unroll
