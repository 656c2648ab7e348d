// Steps whose gradient is a sum over shards, in a fixed tree (shard_sums.h). Processes that mpirun started together share them: any
// number of processes that divides the shards gives the same bits.
#include "framework/signals.h"
#include "training/steps/on_this_thread.h"
#include "training/steps/shard_sums.h"
#include "training/steps/shard_tree.h"

namespace unroll {

namespace {

class InShards : public OnThisThread {
 public:
  explicit InShards(Training& training)
      : OnThisThread(training), sums_(training.optimizer.parameters(), training.options.shards) {}
  ExchangedGradients exchanged() const override { return sums_.exchanged(); }

 private:
  struct Facts {  // of a shard of a step
    double total = 0, rate_factor = 0;
    int64_t count = 0;
  };
  // The ranks tell each other of their shards once a step: before the last backward, or after it.
  struct Shards {
    std::vector<Step> computed;  // by this process
    std::vector<Facts> facts;    // of all
    std::string diverged;        // why the first has that has
    bool told = false;
  };
  void compute(const TrainingTask& task, Step& step) override;
  std::string compute_shards(const TrainingTask& task, Step& step, Shards& shards);
  using BeforeLastBackward = std::function<void(const WindowLoss&)>;
  std::string compute_shard(const TrainingTask& task, Step& shard, const BeforeLastBackward& before_last);
  void tell(const Step& step, const std::string& why, Shards& shards);
  std::pair<int64_t, std::string> trace(const TrainingTask& task, const Step& step) override;
  int64_t load(const TrainingTask&, const Step&) const override { return 0; }
  WindowLoss loss_of(const TrainingTask& task, const Step& step) const override;
  void give_up(const TrainingTask& task, const Step& step) override;
  int64_t bytes() const override { return OnThisThread::bytes() + sums_.bytes(); }

  GradientSums sums_;
};

// The step's gradient, losses and counts, from those of its shards; then the optimizer. One shard has all windows of the step
// computed before the next shard begins, so its gradients are summed once.
void InShards::compute(const TrainingTask& task, Step& step) {
  Shards shards;
  const std::string why = compute_shards(task, step, shards);
  if (!shards.told) tell(step, why, shards);
  if (!shards.diverged.empty()) throw Diverged(shards.diverged);
  sums_.finish();
  const Facts all = sum_of_shards(std::span(shards.facts), [](Facts& a, const Facts& b) {
    a.total += b.total, a.count += b.count;  // the first shard is never empty, so the factor is its
  });
  step.total = all.total, step.rate_factor = all.rate_factor, step.count = all.count;
  update(task, step);
  step.window = step.end;
}

void InShards::tell(const Step& step, const std::string& why, Shards& shards) {
  shards.computed.resize(static_cast<size_t>(sums_.mine().end - sums_.mine().begin), step);
  std::string mine;
  for (const Step& shard : shards.computed) mine += pack(Facts{shard.total, shard.rate_factor, shard.count});
  for (std::string& of_rank : training_.ranks.agree(mine + why)) {
    for (size_t k = 0; k < shards.computed.size(); ++k) shards.facts.push_back(unpack<Facts>(of_rank));
    if (shards.diverged.empty()) shards.diverged = of_rank;
  }
  shards.told = true;
}

// Computes the shards of this process. Returns why the first that diverged has, or "".
std::string InShards::compute_shards(const TrainingTask& task, Step& step, Shards& shards) {
  sums_.begin();
  bool added = false;  // the last shard's, as its backward went
  for (int number = sums_.mine().begin; number < sums_.mine().end; ++number) {
    Step& shard = shards.computed.emplace_back(step);
    shard.shard = {number, training_.options.shards};
    BeforeLastBackward before_last;
    if (number + 1 == sums_.mine().end && sums_.overlaps())
      before_last = [&](const WindowLoss& loss) {
        count(shard, loss.facts());
        tell(step, "", shards);
        if (!shards.diverged.empty()) throw Diverged(shards.diverged);
        sums_.begin_last_backward();
        added = true;
      };
    if (std::string why = compute_shard(task, shard, before_last); !why.empty()) return why;
    if (!added) sums_.add_shard();
  }
  if (added) sums_.end_last_backward();
  return "";
}

// Computes its windows. Returns why it has diverged, or "".
std::string InShards::compute_shard(const TrainingTask& task, Step& shard,
                                    const BeforeLastBackward& before_last) {
  for (; shard.window < shard.end; ++shard.window) {
    // Several processes end between two steps.
    if (training_.ranks.alone() && shard.part() > 0 && shard.can_begin_again) stop_if_signalled();
    const bool overlaps = before_last && shard.is_last();
    TapeOptions options;
    if (overlaps)
      options.check_inputs = true, options.observer = &sums_;  // a contribution that comes late would be lost
    try {
      const WindowLoss loss =
          differentiate(task, shard, options, [&](const WindowLoss& of_window, Tape& tape) {
            add_loss(of_window, shard, tape);
            if (overlaps) before_last(of_window);
          });
      if (!loss.objective.value().defined()) continue;
      carry(task, loss);
      count(shard, loss.facts());
    } catch (const Diverged& reason) { return reason.what(); }
  }
  return "";
}

WindowLoss InShards::loss_of(const TrainingTask& task, const Step& step) const {
  return task.shard_loss(training_.chosen(step.window), step.shard);
}

void InShards::give_up(const TrainingTask& task, const Step& step) {
  sums_.give_up();
  OnThisThread::give_up(task, step);
}

std::pair<int64_t, std::string> InShards::trace(const TrainingTask& task, const Step& step) {
  std::pair<int64_t, std::string> found{step.end - 1, ""};
  for (int number = sums_.mine().begin; number < sums_.mine().end && found.second.empty(); ++number) {
    Step shard = step;
    shard.shard = {number, training_.options.shards};
    found = OnThisThread::trace(task, shard);
  }
  for (std::string& of_rank : training_.ranks.agree(pack(found.first) + found.second)) {
    const auto window = unpack<int64_t>(of_rank);
    if (!of_rank.empty()) return {window, of_rank};
  }
  return {step.end - 1, ""};
}

}  // namespace

std::unique_ptr<Steps> steps_in_shards(Training& training) { return std::make_unique<InShards>(training); }

}  // namespace unroll
