// Steps that the host asks a GPU for without waiting for what becomes of them (run_ahead.h). The GPU itself looks whether a step
// is finite. look() sees it later, and takes a step that has failed again, as OnThisThread does.
#pragma once

#include "training/steps/on_this_thread.h"
#include "training/steps/run_ahead.h"

namespace unroll {

class AheadOfGpu : public OnThisThread {
 public:
  AheadOfGpu(Training& training, const TrainingTask& task);
  void take(const TrainingTask& task) override;
  std::optional<uint32_t> look(const TrainingTask& task) override;
  bool should_look() const override { return ahead_.is_far(); }
  void state_changed() override { ahead_.set_totals(training_.state); }

 private:
  LossFacts train_window(const TrainingTask& task, Step& step);
  void order(Step& step, const LossFacts& facts);
  RunAhead ahead_;
};

}  // namespace unroll
