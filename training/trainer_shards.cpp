// A trainer's steps in shards.
#include "framework/processes/processes.h"
#include "framework/signals.h"
#include "training/trainer.h"

namespace unroll {

// The step's gradient, losses and counts, from those of its shards; then the optimizer. Of the windows of a step, one shard has
// all computed before the next begins, so its gradients are summed once.
void Trainer::train_shards(const TrainingTask& task, Step& step) {
  ShardsOfStep shards;
  const std::string why = compute_shards(task, step, shards);
  if (!shards.told) tell_facts(step, why, shards);
  if (!shards.diverged.empty()) throw Diverged(shards.diverged);
  sums_->finish();
  const ShardFacts all = sum_of_shards(std::span(shards.facts), [](ShardFacts& a, const ShardFacts& b) {
    a.total += b.total, a.count += b.count;  // the first shard is never empty, so the factor is its
  });
  step.total = all.total, step.rate_factor = all.rate_factor, step.count = all.count;
  update(task, step);
}

void Trainer::tell_facts(const Step& step, const std::string& why, ShardsOfStep& shards) {
  shards.computed.resize(static_cast<size_t>(sums_->mine().end - sums_->mine().begin), step);
  std::string mine;
  for (const Step& shard : shards.computed)
    mine += bytes_of(ShardFacts{shard.total, shard.rate_factor, shard.count});
  for (std::string& of_rank : ranks_.agree(mine + why)) {
    for (size_t k = 0; k < shards.computed.size(); ++k) shards.facts.push_back(take<ShardFacts>(of_rank));
    if (shards.diverged.empty()) shards.diverged = of_rank;
  }
  shards.told = true;
}

// Those of this process. Returns why the first that diverged has; "" if all are well.
std::string Trainer::compute_shards(const TrainingTask& task, Step& step, ShardsOfStep& shards) {
  sums_->begin();
  bool added = false;  // the last shard's, as its backward went
  for (int number = sums_->mine().begin; number < sums_->mine().end; ++number) {
    Step& shard = shards.computed.emplace_back(step);
    shard.shard = {number, options_.shards};
    BeginBackward last_backward;
    if (number + 1 == sums_->mine().end && sums_->overlaps())
      last_backward = [&](const RunAhead::WindowFacts& facts) {
        order(shard, facts);
        tell_facts(step, "", shards);
        if (!shards.diverged.empty()) throw Diverged(shards.diverged);
        sums_->begin_last_backward();
        added = true;
      };
    if (std::string why = compute_shard(task, shard, last_backward); !why.empty()) return why;
    if (!added) sums_->add_shard();
  }
  if (added) sums_->end_last_backward();
  return "";
}

// Its windows. Returns why it has diverged, or "".
std::string Trainer::compute_shard(const TrainingTask& task, Step& shard,
                                   const BeginBackward& begin_last_backward) {
  for (; shard.window < shard.end; ++shard.window) {
    // Alone; else all end between two steps.
    if (process_count() == 1 && shard.part() > 0 && shard.can_begin_again) stop_if_signalled();
    RunAhead::WindowFacts facts;
    try {
      if (!compute_window(task, shard, facts, shard.is_last() ? begin_last_backward : BeginBackward()))
        continue;
    } catch (const Diverged& reason) { return reason.what(); }
    order(shard, facts);
  }
  return "";
}

std::pair<int64_t, std::string> Trainer::trace_shards(const TrainingTask& task, const Step& step) {
  std::pair<int64_t, std::string> found{step.end - 1, ""};
  for (int number = sums_->mine().begin; number < sums_->mine().end && found.second.empty(); ++number) {
    Step shard = step;
    shard.shard = {number, options_.shards};
    found = trace_here(task, shard);
  }
  for (std::string& of_rank : ranks_.agree(bytes_of(found.first) + found.second)) {
    const auto window = take<int64_t>(of_rank);
    if (!of_rank.empty()) return {window, of_rank};
  }
  return {step.end - 1, ""};
}

}  // namespace unroll
