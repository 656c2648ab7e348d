#include "training/steps/ahead_of_gpu.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "framework/hash.h"
#include "framework/kernels/updates.h"
#include "framework/memory.h"
#include "framework/profile.h"
#include "framework/signals.h"

namespace unroll {

RunAhead::RunAhead(Optimizer& optimizer, std::span<const NamedTensor> carried, bool graphs)
    : optimizer_(optimizer), graphs_(graphs) {
  for (const NamedTensor& named : carried) {
    carried_.push_back(named.tensor);
    kept_.push_back(named.tensor.clone());
  }
  before_.reserve(most_steps);
}

void RunAhead::begin_step(const TrainerState& state, int64_t count) {
  Before before{state, count, optimizer_.parameters().step()};
  const OptimizerState optimizer = optimizer_.whole_state();
  for (const auto& counter : optimizer.counters) before.counters.push_back(*counter.value);
  before.learning_rate = *optimizer.learning_rate;
  before_.push_back(std::move(before));
  for (size_t i = 0; i < carried_.size(); ++i)
    kernels().keep(optimizer_.step_values(), carried_[i].data(), kept_[i].data(), kept_[i].size());
}

std::string RunAhead::ask(Kind kind, const std::function<void(const WindowFacts&)>& order,
                          const std::function<WindowFacts()>& work) {
  kind.written = hash_of_nothing;
  for (const auto& p : optimizer_.parameters().all())
    kind.written = hash_with(kind.written, p->node.gradient.written() ? 1 : 2);
  Known* const known = graphs_ && known_.contains(kind) ? &known_.at(kind) : nullptr;
  if (!known || known->cannot_be_graph || (!known->graph && recorded_ == most_graphs)) {
    const WindowFacts facts = work();  // which calls order() itself, when it knows them
    if (graphs_) known_[kind].facts = facts;
    return "";
  }
  order(known->facts);
  if (!known->graph) {
    // The second time: what is made at first use is there.
    const std::string why_not = record(*known, work);
    if (known->cannot_be_graph) {
      work();
      return std::exchange(one_failed_, true) ? "" : why_not;
    }
  } else {
    // The next window of the step adds to these gradients, whoever computed them.
    for (Parameter* p : known->written) p->node.gradient.into(p->shape);
  }
  known->graph->play();
  return "";
}

std::string RunAhead::record(Known& known, const std::function<WindowFacts()>& work) {
  ParameterSet& params = optimizer_.parameters();
  const auto written = [&] {
    std::vector<Parameter*> result;
    for (const auto& p : params.all())
      if (p->node.gradient.written()) result.push_back(p);
    return result;
  };
  const std::vector<Parameter*> before = written();
  const auto why_not = [&](const Error& error) -> std::string {
    synchronize();  // throws where the GPU itself has failed
    give_back_failed_recording();
    // Nothing was computed: the gradients are those of the step's windows before, and which there are is put back.
    params.spend_gradients();
    for (Parameter* p : before) p->node.gradient.into(p->shape);
    known.cannot_be_graph = true;
    return error.what();
  };
  try {
    known.graph.emplace(&optimizer_.step_values()->orders.step, params.step(), work);
  } catch (const OutOfMemory& error) { return why_not(error); } catch (const DeviceError& error) {
    return why_not(error);
  } catch (...) {
    give_back_failed_recording();
    throw;
  }
  known.written = written();
  ++recorded_;
  return "";
}

StepOutcome RunAhead::look() {
  StepOutcome outcome;
  copy_to_host(&outcome, &optimizer_.step_values()->outcome, sizeof outcome);
  if (!outcome.failed) {
    if (is_far()) reach_ = std::min(2 * reach_, most_steps);
    before_.clear();
  }
  return outcome;
}

void RunAhead::put_back(const Before& before) {
  optimizer_.parameters().spend_gradients();
  optimizer_.parameters().set_step(before.step);
  const OptimizerState optimizer = optimizer_.whole_state();
  for (size_t i = 0; i < before.counters.size(); ++i) *optimizer.counters[i].value = before.counters[i];
  *optimizer.learning_rate = before.learning_rate;
  for (size_t i = 0; i < carried_.size(); ++i) carried_[i].copy_from(kept_[i]);
}

RunAhead::Before RunAhead::give_up() {
  Before before = std::move(before_.back());
  before_.pop_back();
  put_back(before);
  StepOutcome outcome;  // without the sums of this step
  copy_to_host(&outcome, &optimizer_.step_values()->outcome, sizeof outcome);
  outcome.squares = outcome.loss = 0, outcome.finite = 1;
  copy_to_device(&optimizer_.step_values()->outcome, &outcome, sizeof outcome);
  return before;
}

std::optional<RunAhead::Before> RunAhead::failed(const StepOutcome& outcome) {
  if (!outcome.failed) return {};
  const auto at = std::ranges::find(before_, outcome.failed_step, &Before::step);
  require(at != before_.end(), "trainer: step {} has failed, which nobody asked for", outcome.failed_step);
  Before before = std::move(*at);
  before_.clear();
  reach_ = 1;
  put_back(before);
  before.state.total = outcome.total, before.state.interval_total = outcome.interval_total;
  return before;
}

void RunAhead::set_totals(const TrainerState& state) {
  const StepOutcome outcome{.total = state.total, .interval_total = state.interval_total};
  copy_to_device(&optimizer_.step_values()->outcome, &outcome, sizeof outcome);
}

// --- the steps of a training ---------------------------------------------------------------------------------

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
      if (step.window > step.begin && (!task.carry || !task.carried.empty())) stop_if_signalled();
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
    const RunAhead::Before before = ahead_.give_up();
    training_.state = before.state;
    training_.times.count = before.count;
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
