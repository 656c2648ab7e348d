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
  // Takes one step, with the windows from TrainerState::window on. Throws Diverged if a loss or the gradient is not finite, unless
  // the options say that such a step is left out.
  virtual void take(const TrainingTask& task) = 0;
  // Waits for the steps that were taken, so that their losses and the norm are known. If one of them has failed, it takes that
  // one again and returns its number. The training then stands after that step.
  virtual std::optional<uint32_t> look(const TrainingTask& /*task*/) { return {}; }
  virtual bool should_look() const { return true; }  // the next look() may have to take back too many steps
  // The trainer has changed the sums of losses. Requires: look() came before.
  virtual void state_changed() {}
  virtual ExchangedGradients exchanged() const { return {}; }  // by this process so far
};

std::unique_ptr<Steps> steps_in_shards(Training& training);  // of several shards, one after the other
// The way that options, task and device ask for: in_shards.cpp, ahead_of_gpu.h or on_this_thread.h (choose_steps.cpp).
std::unique_ptr<Steps> choose_steps(Training& training, const TrainingTask& task);
// Throws Error if an option is out of its range, or asks for what the optimizer lacks. Sets a schedule's first momentum.
void check_options(const TrainerOptions& options, Optimizer& optimizer);
// Throws Error if the options ask for a way that this task or the device does not have.
void check_steps(const TrainerOptions& options, const TrainingTask& task);

}  // namespace unroll
