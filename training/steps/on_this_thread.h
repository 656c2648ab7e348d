// Steps whose windows are computed one after the other. The host looks at each loss and at the gradient's norm.
//
// In fp16 the loss is scaled (loss_scale.h). A step whose scaled gradient overflows is left out, and is no divergence: its
// windows are carried and counted. A gradient that is not finite at the smallest scale is.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "training/steps/steps.h"

namespace unroll {

class OnThisThread : public Steps {
 public:
  explicit OnThisThread(Training& training) : training_(training) {}
  void take(const TrainingTask& task) override;

 protected:
  // A step while its windows come.
  struct Step {
    int64_t begin, end;  // its windows
    int64_t window;      // the present one
    double scale;        // of the loss
    // Copies of TrainingTask::carried before the first window. Empty if the step has one window, which is carried last.
    std::vector<Tensor> carried_before = {};
    bool can_begin_again = false;
    double total = 0, rate_factor = 0;  // sums over the windows so far; `total`: of losses that are known
    int64_t count = 0;
    int64_t counted = -1;  // the last window that count() was called for
    Shard shard = {};
    bool is_last() const { return window + 1 == end; }
    uint32_t part() const { return static_cast<uint32_t>((window - begin) * shard.of + shard.number); }
  };
  Step next_step();
  // Adds the facts of the present window. False if they are in already.
  static bool count(Step& step, const LossFacts& facts);
  void add_to_totals(const Step& step);
  StepOptions options_of(const Step& step);  // takes the schedule's learning rate
  static void reduce_gradients(const TrainingTask& task);

  // The gradient of a window's loss. `before_backward` gets the loss. Without an objective the shard has no part of the window.
  using BeforeBackward = std::function<void(const WindowLoss&, Tape&)>;
  WindowLoss differentiate(const TrainingTask& task, const Step& step, TapeOptions options,
                           const BeforeBackward& before_backward);
  void add_loss(const WindowLoss& loss, Step& step, Tape& tape);  // throws Diverged
  // The optimizer, between the gradient of the last window and its carrying.
  void update(const TrainingTask& task, const Step& step);
  static void carry(const TrainingTask& task, const WindowLoss& loss);

  // Which of the step's windows has the gradient that is not finite, and where it began.
  virtual std::pair<int64_t, std::string> trace(const TrainingTask& task, const Step& step);
  // Its windows and the update.
  virtual void compute(const TrainingTask& task, Step& step);
  virtual int64_t load(const TrainingTask& task, const Step& step) const;
  virtual WindowLoss loss_of(const TrainingTask& task, const Step& step) const;
  // Forgets its gradients, and puts back what was carried before it.
  virtual void give_up(const TrainingTask& task, const Step& step);
  virtual int64_t bytes() const;  // of weights, gradients, and what the optimizer keeps

  Training& training_;

 private:
  void skip(const Diverged& reason);
};

}  // namespace unroll
