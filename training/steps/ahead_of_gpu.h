// Training on a GPU without waiting for it. The host asks for one step after the other; the device itself decides whether a
// step is finite and what clipping makes of it; now and then the host looks. A step that is not finite changes nothing, and
// neither does any after it, so the host can go back to where it stood before, and take that step again one by one.
//
// With graphs, a window whose like was asked for before is one call (framework/graph.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "framework/graph.h"
#include "training/steps/on_this_thread.h"

namespace unroll {

struct StepOutcome;  // framework/kernels/updates.h

class RunAhead {
 public:
  // `carried` as in TrainingTask.
  RunAhead(Optimizer& optimizer, std::span<const NamedTensor> carried, bool graphs);

  // The host's knowledge before a step.
  struct Before {
    TrainerState state;  // with `epoch`, `window` and the sums of losses
    int64_t count = 0;   // Trainer::Times::count
    uint32_t step = 0;
    std::vector<int64_t> counters = {};  // the optimizer's
    double learning_rate = 0;            // the optimizer's
  };
  void begin_step(const TrainerState& state, int64_t count);  // keeps what stands before it

  using WindowFacts = LossFacts;  // that all windows of a kind share
  // Windows that one graph serves.
  struct Kind {
    int64_t of_task = 0;     // TrainingTask::load
    uint32_t part = 0;       // of the windows of a step, and …
    bool last = false;       // … whether it is the last: only then the weights change
    uint64_t signature = 0;  // Optimizer::step_signature()
    double scale = 1;        // of the loss
    // Which gradients the step's windows before have begun, to which it adds: found out by ask().
    uint64_t written = 0;
    auto operator<=>(const Kind&) const = default;
  };
  // Asks for a window: `order(facts)` of what the host has to say, then `work()`, which asks for the operations and
  // returns the facts. If `work` was recorded, it is not called. A kind that the GPU cannot record (DeviceError, OutOfMemory)
  // is asked for in this way ever after: returns why, of the first such kind, else "". Throws what else `work` throws.
  std::string ask(Kind kind, const std::function<void(const WindowFacts&)>& order,
                  const std::function<WindowFacts()>& work);

  // Puts back what stood before the present step, of which some windows may have been asked for, and returns it.
  Before give_up();

  bool asked() const { return !before_.empty(); }
  StepOutcome look();  // waits for the device
  // The host's knowledge before the step that failed; none: all are well.
  std::optional<Before> failed(const StepOutcome& outcome);  // puts carried buffers and optimizer back
  void set_totals(const TrainerState& state);                // losses so far

  // Whether it is time to look: after one step at first and where a step has failed, for another may, and after twice as
  // many as the last time where all were well.
  bool is_far() const { return std::ssize(before_) >= reach_; }

 private:
  struct Known {
    WindowFacts facts;
    std::optional<Graph> graph;
    bool cannot_be_graph = false;
    std::vector<Parameter*> written;  // parameters that have a gradient then
  };
  void put_back(const Before& before);  // the optimizer and the carried buffers
  // Returns "", or why it cannot be recorded.
  std::string record(Known& known, const std::function<WindowFacts()>& work);
  static constexpr int64_t most_graphs = 64;  // each keeps its memory

  Optimizer& optimizer_;
  std::vector<Tensor> carried_, kept_;  // before the present step
  const bool graphs_;
  static constexpr int64_t most_steps = 64;
  int64_t reach_ = 1;
  std::map<Kind, Known> known_;
  int64_t recorded_ = 0;
  bool one_failed_ = false;     // at being recorded
  std::vector<Before> before_;  // of the steps since the last look
};

// look() takes a step that has failed again, as OnThisThread does.
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
