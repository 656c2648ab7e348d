#include "training/steps/run_ahead.h"

#include <algorithm>
#include <utility>

#include "framework/hash.h"
#include "framework/kernels/updates.h"
#include "framework/memory.h"

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
  try {
    known.graph.emplace(&optimizer_.step_values()->orders.step, params.step(), work);
  } catch (const NeedsHost&) { throw; } catch (const Error& error) {
    synchronize();  // throws where the GPU itself has failed
    give_back_failed_recording();
    // Nothing was computed: the gradients are those of the step's windows before, and which there are is put back.
    params.spend_gradients();
    for (Parameter* p : before) p->node.gradient.into(p->shape);
    known.cannot_be_graph = true;
    return error.what();
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

std::optional<RunAhead::Before> RunAhead::failed(const StepOutcome& outcome) {
  if (!outcome.failed) return {};
  const auto at = std::ranges::find(before_, outcome.failed_step, &Before::step);
  require(at != before_.end(), "trainer: step {} has failed, which nobody asked for", outcome.failed_step);
  Before before = std::move(*at);
  before_.clear();
  reach_ = 1;
  optimizer_.parameters().spend_gradients();
  optimizer_.parameters().set_step(before.step);
  const OptimizerState optimizer = optimizer_.whole_state();
  for (size_t i = 0; i < before.counters.size(); ++i) *optimizer.counters[i].value = before.counters[i];
  *optimizer.learning_rate = before.learning_rate;
  for (size_t i = 0; i < carried_.size(); ++i) carried_[i].copy_from(kept_[i]);
  before.state.total = outcome.total, before.state.interval_total = outcome.interval_total;
  return before;
}

void RunAhead::set_totals(const TrainerState& state) {
  const StepOutcome outcome{.total = state.total, .interval_total = state.interval_total};
  copy_to_device(&optimizer_.step_values()->outcome, &outcome, sizeof outcome);
}

}  // namespace unroll
