// Steps whose gradient is a sum over shards, in a fixed tree (shard_sums.h). Processes that mpirun started together share them: any
// number of processes that divides the shards gives the same bits.
#pragma once

#include "training/steps/on_this_thread.h"
#include "training/steps/shard_sums.h"

namespace unroll {

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

}  // namespace unroll
