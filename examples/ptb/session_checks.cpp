// The runs of a session that only look whether a model can learn.
#include <map>

#include "session.h"

namespace ptb {

TrainerOptions Session::one_window_options(int steps) const {
  TrainerOptions options = trainer_options();
  options.epochs = steps;
  options.accumulate = 1;
  options.schedule.reset();
  options.progress.mode = ProgressOptions::Mode::silent;
  return options;
}

void Session::dry_run() {
  introduce();
  TrainingTask task = this->task();
  task.windows = 1;
  Trainer trainer(*optimizer_, one_window_options(1));
  train(trainer, task);
  tell_profile();
  tell("\none step: perplexity {:.2f} of {} tokens, {:.3f} s\n", trainer.epochs().back().train,
      with_commas(trainer.count()), trainer.times().training);
  const auto& valid = text_.corpus.valid;
  const int64_t few = std::min<int64_t>(std::ssize(valid), int64_t{recipe_.data.batch} * recipe_.data.bptt);
  const Score scored = score(model_, std::span(valid).first(static_cast<size_t>(few)),
                             text_.corpus.vocabulary.eos(), recipe_.data.eval_batch);
  tell("scoring: perplexity {:.2f} of {} tokens of the valid split\n", scored.perplexity(),
      with_commas(scored.tokens));
  tell_memory();
  tell("nothing was written\n");
  print_json(trainer, 0);
}

// The mean loss that nothing can beat on a window from an empty state: streams agree so far and then differ.
static double floor_of(const Window& window) {
  std::vector<std::vector<int32_t>> history(static_cast<size_t>(window.input.dim(1)));
  double nats = 0;
  for (int t = 0; t < window.input.dim(0); ++t) {
    std::map<std::vector<int32_t>, std::map<int32_t, int>> after;
    for (size_t stream = 0; stream < history.size(); ++stream) {
      history[stream].push_back(window.input[t].data()[stream]);
      ++after[history[stream]][window.target[t].data()[stream]];
    }
    for (const auto& [words, targets] : after) {
      double total = 0;
      for (const auto& [target, count] : targets) total += count;
      for (const auto& [target, count] : targets) nats -= count * std::log(count / total);
    }
  }
  return nats / static_cast<double>(window.target.size());
}

void Session::overfit_one_batch() {
  constexpr int most_steps = 3000;
  constexpr double near = 0.1;  // nats above the floor
  introduce();
  const Window window = windows_.at(0);
  const double floor = floor_of(window);
  say("\none window of {} tokens, again and again; no loss can be below {:.3f}\n", window.target.size(),
      floor);
  TrainingTask task = this->task();
  task.windows = 1;
  Trainer trainer(*optimizer_, one_window_options(most_steps));
  double loss = 0;
  int next_line = 1;
  task.after_epoch = [&](const EpochReport& report) {
    loss = std::log(report.train);
    const bool learnt = loss < floor + near;
    if (learnt) trainer.stop();
    if (report.epoch != next_line && !learnt) return;
    say("step {:5}  loss {:.3f}\n", report.epoch, loss);
    next_line = report.epoch * 2;
  };
  train(trainer, task);
  tell_profile();
  const int steps = trainer.state().epoch;
  require(loss < floor + near,
          "the window was not learnt by heart in {} steps: the loss is {:.3f} still; "
          "look at the learning rate, at dropout, and at the model",
          steps, loss);
  tell("learnt by heart in {} steps\n", steps);
  print_json(trainer, 0);
}

}  // namespace ptb
