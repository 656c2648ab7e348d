// Several models that one optimizer trains side by side, which share the windows and nothing else: the members of an ensemble.
//
//   task.observer = std::make_shared<Members>(std::vector<Member>{{"first", first.parameters(), score_of(first)}, …});
//
// Each member is scored by itself after an epoch and keeps the weights of its own best epoch. `validate`, `metrics`, `after_epoch`
// and files have these weights. A member that had no better score for TrainerOptions::patience epochs is frozen, and
// `loss` should leave it out. Once all are, training ends. The members' scores stand before the task's metrics, each under its name.
// A frozen member has the score of the weights that it keeps.
#pragma once

#include <string>
#include <vector>

#include "training/trainer.h"

namespace unroll {

struct Member {
  std::string name;
  std::vector<Parameter*> parameters;
  SharedScore score;  // of this model alone, the lower the better
};

class Members : public EpochObserver {
 public:
  explicit Members(std::vector<Member> members) : members_(std::move(members)) {}
  // Throws Error if the task has no validation, if a member lacks something, or if the optimizer keeps averages.
  void begin(const TrainingTask& task, Optimizer& optimizer) override;
  void begin_epoch(TrainerState& state, int patience) override;
  std::vector<Scalar> end_epoch(TrainerState& state, Ranks& ranks) override;
  void score_anew(TrainerState& state, Ranks& ranks) override;

 private:
  std::vector<Member> members_;
  Optimizer* optimizer_ = nullptr;
};

}  // namespace unroll
