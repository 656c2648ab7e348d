// How the steps of a training are made. The trainer asks for one after the other.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "training/steps/gradient_exchange.h"
#include "training/task.h"
#include "training/training.h"

namespace unroll {

class Steps {
 public:
  virtual ~Steps() = default;
  // The windows from TrainerState::window on that make a step, and the step. Throws Diverged if the loss or the gradient is not
  // finite, unless such a step is to be left out.
  virtual void take(const TrainingTask& task) = 0;
  // Waits for the steps that were taken: from then on their losses and the norm are known. If one had failed, it is taken again,
  // the training stands after it, and its number is returned.
  virtual std::optional<uint32_t> look(const TrainingTask& /*task*/) { return {}; }
  virtual bool should_look() const { return true; }  // soon enough not to lose much if a step has failed
  // The trainer has changed the sums of losses. Requires: look() came before.
  virtual void state_changed() {}
  virtual ExchangedGradients exchanged() const { return {}; }
};

// The way that options, task and device ask for: in_shards.h, ahead_of_gpu.h or on_this_thread.h (choose_steps.cpp).
std::unique_ptr<Steps> choose_steps(Training& training, const TrainingTask& task);
// Throws Error if the options ask for a way that this task or the device does not have.
void check_steps(const TrainerOptions& options, const TrainingTask& task);

}  // namespace unroll
