// The runs of a session that only look whether a model can learn.
#include <cmath>

#include "training/program/run/session.h"

namespace unroll {

TrainingTask Session::one_window_task() const {
  TrainingTask task = trainee_.task;
  task.windows = 1;
  task.cut = {};
  task.validate = {};
  return task;
}

TrainerOptions Session::one_window_options(int steps) const {
  TrainerOptions options = trainer_options();
  options.epochs = steps;
  options.accumulate = 1;
  options.schedule.reset();
  options.patience = options.non_monotone = 0;  // nothing is validated
  options.progress.mode = ProgressOptions::Mode::silent;
  return options;
}

void Session::dry_run() {
  introduce();
  TrainingTask task = one_window_task();
  Trainer trainer(*optimizer_, one_window_options(1));
  train(trainer, task);
  tell_profile();
  const LogNames& names = trainee_.description.names;
  voice_.tell("\none step: {} {} of {} {}, {:.3f} s\n", names.perplexity ? "perplexity" : "loss",
              format_score(trainer.epochs().back().train), with_commas(trainer.count()),
              names.perplexity ? "tokens" : names.unit, trainer.times().training);
  trainee_.score_a_little();
  tell_memory();
  voice_.tell("nothing was written\n");
  print_json(trainer, 0);
}

void Session::overfit_one_window(const std::string& window, double least, double near) {
  constexpr int most_steps = 3000;
  introduce();
  voice_.say("\n{}, again and again; no loss can be below {:.3f}\n", window, least);
  TrainingTask task = one_window_task();
  Trainer trainer(*optimizer_, one_window_options(most_steps));
  double loss = 0;
  int next_line = 1;
  task.after_epoch = [&](const EpochReport& report) {
    loss = trainee_.description.names.perplexity ? std::log(report.train) : report.train;
    const bool learnt = loss < least + near;
    if (learnt) trainer.stop();
    if (report.epoch != next_line && !learnt) return;
    voice_.say("step {:5}  loss {:.3f}\n", report.epoch, loss);
    next_line = report.epoch * 2;
  };
  train(trainer, task);
  tell_profile();
  const int steps = trainer.state().epoch;
  require(loss < least + near,
          "the window was not learnt by heart in {} steps: the loss is {:.3f} still; "
          "look at the learning rate, at dropout, and at the model",
          steps, loss);
  voice_.tell("learnt by heart in {} steps\n", steps);
  print_json(trainer, 0);
}

}  // namespace unroll
