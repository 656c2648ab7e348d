// What a step of a trainer is made of: the orders to the optimizer, the answer to what is not finite, and, on a GPU, steps that
// are asked for without waiting for what became of the last.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "framework/gemm.h"
#include "framework/kernels/kernels.h"
#include "framework/profile.h"
#include "framework/signals.h"
#include "training/trainer.h"

namespace unroll {

static constexpr int most_skipped = 10;  // steps in a row

Trainer::Step Trainer::begin_step(const TrainingTask& task, bool watched) {
  const LossScale* const loss = loss_scale();
  Step step{.begin = state_.window,
            .end = std::min(state_.window + options_.accumulate, state_.windows),
            .window = state_.window,
            .watched = watched,
            .scale = loss ? loss->scale : 1};
  if (!watched) {
    ahead_->begin_step(state_, times_.count);
  } else if (step.end - step.begin > 1 || options_.shards > 1) {  // else carried after the step only
    for (const NamedTensor& named : task.carried) step.carried_before.push_back(named.tensor.clone());
  }
  step.can_begin_again = !task.carry || !step.carried_before.empty();
  return step;
}

void Trainer::give_up(const TrainingTask& task, const Step& step) {
  if (sums_) sums_->give_up();
  optimizer_.parameters().spend_gradients();
  for (size_t i = 0; i < step.carried_before.size(); ++i)
    task.carried[i].tensor.copy_from(step.carried_before[i]);
}

void Trainer::finish_step(const Step& step) {
  if (!step.watched) {
    optimizer_.finish_step();
    if (LossScale* const loss = loss_scale()) loss->succeeded();
  }
  state_.total += step.total, state_.interval_total += step.total;
  state_.count += step.count, state_.interval_count += step.count, times_.count += step.count;
  state_.skipped_in_a_row = 0;
}

// The losses are summed by whoever looks whether they are finite: the host, or the device.
void Trainer::add_loss(const WindowLoss& loss, Step& step, Tape& tape) {
  require(loss.count >= 0, "trainer: window {} has {} predictions", step.window, loss.count);
  if (!step.watched) {
    const double most = std::numeric_limits<double>::max(),
                 largest = options_.perplexity ? std::log(most) : most;
    kernels().add_loss(loss.mean.value().data(), loss.objective.value().data(),
                       static_cast<double>(loss.count), largest, optimizer_.step_values());
    return;
  }
  const double mean = static_cast<double>(loss.mean.item());
  if (!std::isfinite(shown(mean)) || !std::isfinite(loss.objective.item()))
    throw state_.diverged(step.window,
                          fmt::format("step {}: the loss is {}{}", optimizer_.parameters().step(), mean,
                                      std::isfinite(mean) && !std::isfinite(shown(mean))
                                          ? ", and its exp, the perplexity, is not finite"
                                          : ""),
                          tape.first_not_finite());
  step.total += mean * static_cast<double>(loss.count);
}

// What the host has to say of a window, and to the device about it: once, as one whose recording fails is asked for again.
void Trainer::order(Step& step, const RunAhead::WindowFacts& facts) {
  if (std::exchange(step.ordered, step.window) == step.window) return;
  step.count += facts.count;
  step.rate_factor += facts.rate_factor;
  if (step.watched) return;
  if (step.is_last())
    optimizer_.order_step(next_step(step));
  else
    optimizer_.order_window();
}

// The last window is not carried yet.
void Trainer::update(const TrainingTask& task, const Step& step) {
  if (task.reduce_gradients) {
    const Profile::Part part("reduce_gradients");
    task.reduce_gradients();
  }
  if (!step.watched) {
    const Profile::Part part("optimizer step");
    return optimizer_.enqueue_step();
  }
  const StepOptions options = next_step(step);
  LossScale* const loss = loss_scale();
  try {
    const Profile::Part part("optimizer step");
    gradient_norm_ = optimizer_.step(options);
    if (loss) loss->succeeded();
  } catch (const Diverged& reason) {
    optimizer_.parameters().spend_gradients();
    if (loss && loss->overflowed()) return;
    const char* const scaled = loss ? " in fp16, with the loss scale at its smallest, 1" : "";
    give_up(task, step);
    const auto [window, first] = trace(task, step);
    throw state_.diverged(window, reason.what() + std::string(scaled), first);
  }
}

// Which of a step's windows has the gradient that is not finite, and where it began: they are computed once more, with
// the same masks, on tapes that keep what they see.
std::pair<int64_t, std::string> Trainer::trace(const TrainingTask& task, const Step& step) {
  return options_.shards > 1 ? trace_shards(task, step) : trace_here(task, step);
}

std::pair<int64_t, std::string> Trainer::trace_here(const TrainingTask& task, const Step& of) {
  const int64_t last = of.end - 1;
  Step step = of;
  try {
    for (step.window = step.can_begin_again ? step.begin : last; step.window <= last; ++step.window) {
      Tape tape({.keep_gradients = true, .part = step.part()});
      if (options_.shards == 1 && task.load) task.load(chosen(step.window));
      const WindowLoss loss = options_.shards > 1 ? task.shard_loss(chosen(step.window), step.shard)
                                                  : task.loss(chosen(step.window));
      if (!loss.objective.value().defined()) continue;
      tape.backward(loss.objective);
      if (const std::string first = tape.first_not_finite(); !first.empty()) return {step.window, first};
      if (step.window < last) carry_shard(task, loss);
    }
  } catch (const MemoryRefused&) {}  // such a tape takes more than others: then without
  return {last, ""};
}

StepOptions Trainer::next_step(const Step& step) {
  if (const auto& schedule = state_.schedule) {
    const int64_t of_step = optimizer_.parameters().step();
    optimizer_.set_learning_rate(state_.next_rate(of_step));
    if (const auto momentum = schedule->momentum_at(of_step)) optimizer_.set_momentum(*momentum);
  }
  state_.learning_rate = optimizer_.learning_rate();
  const LossScale* const loss = loss_scale();
  const auto n = static_cast<double>(step.end - step.begin);
  // The norm is measured even where nothing is clipped: it shows what is not finite before it reaches a weight.
  return {.max_norm = options_.clip > 0 ? options_.clip : std::numeric_limits<double>::infinity(),
          .factor = 1 / n / (loss ? loss->scale : 1),
          .rate_factor = step.rate_factor / n};
}

LossScale* Trainer::loss_scale() {
  if (precision() != Precision::fp16)
    state_.loss_scale.reset();
  else if (!state_.loss_scale)
    state_.loss_scale.emplace();
  return state_.loss_scale ? &*state_.loss_scale : nullptr;
}

// Weights, gradients, and what the optimizer keeps.
int64_t Trainer::bytes_of_slabs() const {
  const int64_t slabs = 2 + std::ssize(optimizer_.whole_state().slabs);
  return slabs * optimizer_.parameters().values().size() * static_cast<int64_t>(sizeof(real)) +
         (sums_ ? sums_->bytes() : 0);
}

void Trainer::skip(const Diverged& reason) {
  ++state_.skipped;
  if (++state_.skipped_in_a_row >= most_skipped)
    throw Diverged(fmt::format("{}; {} steps in a row were left out", reason.what(), most_skipped));
  note(fmt::format("left out: {}", reason.what()));
}

// --- ahead of a GPU ----------------------------------------------------------------------------------------

// train_window, or a graph of one like it.
void Trainer::ask_for_window(const TrainingTask& task, Step& step, int64_t kind) {
  const std::string why_not = ahead_->ask(
      {.of_task = kind,
       .part = step.part(),
       .last = step.is_last(),
       .signature = optimizer_.step_signature(),
       .scale = step.scale},
      [&](const RunAhead::WindowFacts& facts) { order(step, facts); },
      [&] { return train_window(task, step); });
  if (!why_not.empty())
    note(fmt::format("window {} is computed without a graph, and so is what else cannot be recorded: {}",
                     step.window + 1, why_not));
}

bool Trainer::is_time_to_look(const Progress& progress) const {
  return state_.window == state_.windows || progress.due(state_.window) || is_log_due() ||
         save_is_due(true) || signal_received() || ahead_->is_far();
}

std::optional<uint32_t> Trainer::catch_up(const TrainingTask& task) {
  if (!ahead_->asked()) return {};
  const StepOutcome outcome = ahead_->look();
  if (const auto before = ahead_->failed(outcome)) {
    state_ = before->state;
    times_.count = before->count;
    train_step(task, true);
    ahead_->set_totals(state_);
    return before->step;
  }
  state_.total = outcome.total, state_.interval_total = outcome.interval_total;
  gradient_norm_ = outcome.norm;
  return {};
}

}  // namespace unroll
