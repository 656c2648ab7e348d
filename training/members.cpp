#include "training/members.h"

#include <cmath>

#include <fmt/format.h>

#include "framework/profile.h"
#include "training/ranks.h"

namespace unroll {

static WeightAverage& kept_by(Optimizer& optimizer) {
  return optimizer.set_average({.what = "kept weights", .counter = "times_kept", .slab = "kept"});
}

void Members::begin(const TrainingTask& task, Optimizer& optimizer) {
  require(task.validate != nullptr,
          "trainer: members keep the weights that validate best; the task has no validate");
  for (const Member& member : members_)
    require(!member.name.empty() && !member.parameters.empty() && member.score.parts > 0,
            "trainer: a member needs a name, parameters and a score");
  kept_by(*(optimizer_ = &optimizer));
}

// Freezes none in an epoch that is to be completed after all had lost their patience, as a run may that is resumed with less of it.
void Members::begin_epoch(TrainerState& state, int patience) {
  state.members.resize(members_.size());
  const bool all = state.out_of_patience(patience);
  for (size_t m = 0; m < members_.size(); ++m)
    for (Parameter* parameter : members_[m].parameters)
      parameter->frozen = !all && state.out_of_patience(state.members[m].best_epoch, patience);
}

std::vector<Scalar> Members::end_epoch(TrainerState& state, Ranks& ranks) {
  state.members.resize(members_.size());
  std::vector<Scalar> scores;
  for (size_t m = 0; m < members_.size(); ++m) {
    const Member& member = members_[m];
    TrainerState::Member& best = state.members[m];
    double score = best.best.value_or(0);
    if (!member.parameters.front()->frozen) {
      const Profile::Part part("validation");
      score = ranks.score(member.score, {});
      if (!std::isfinite(score))
        throw state.diverged(state.windows - 1,
                             fmt::format("the validation score of {} is {}", member.name, score));
      if (!best.best || score < *best.best) {
        best = {score, state.epoch + 1};
        kept_by(*optimizer_).keep(optimizer_->parameters(), member.parameters);
      }
    }
    scores.push_back({member.name, score});
  }
  return scores;
}

void Members::score_anew(TrainerState& state, Ranks& ranks) {
  for (size_t m = 0; m < state.members.size(); ++m)
    state.members[m].best = ranks.score(members_[m].score, {});
}

}  // namespace unroll
