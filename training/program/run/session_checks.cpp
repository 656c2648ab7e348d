// Runs of a session that only check whether a model can learn.
#include <cmath>

#include "training/program/run/session.h"

namespace unroll {

TrainingTask Session::one_window_task() const {
  TrainingTask task = run_.task;
  task.windows = 1;
  task.cut = {};
  task.validate = {}, task.shared_validation = {};
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
  compare_ranks();
  introduce_processes();
  introduce();
  take_first_weights();
  TrainingTask task = one_window_task();
  Trainer trainer(*optimizer_, one_window_options(1));
  train(trainer, task);
  print_profile();
  const LogNames& names = run_.description.names;
  console_.print("\none step: {} {} of {} {}, {:.3f} s\n", names.perplexity ? "perplexity" : "loss",
                 format_score(trainer.epochs().back().train), with_commas(trainer.count()),
                 names.perplexity ? "tokens" : names.unit, trainer.times().training);
  run_.score_a_little();
  print_memory();
  console_.print("nothing was written\n");
  print_json(trainer, 0);
}

void Session::overfit_one_window(const std::string& window, double least, double near) {
  constexpr int most_steps = 3000;
  require_input(process_count() == 1, "train: --overfit-one-batch is for one process, and mpirun started {}",
                process_count());
  introduce();
  take_first_weights();
  console_.info("\n{}, again and again; no loss can be below {:.3f}\n", window, least);
  TrainingTask task = one_window_task();
  Trainer trainer(*optimizer_, one_window_options(most_steps));
  double loss = 0;
  int next_line = 1;
  task.after_epoch = [&](const EpochReport& report) {
    loss = run_.description.names.perplexity ? std::log(report.train) : report.train;
    const bool learnt = loss < least + near;
    if (learnt) trainer.stop();
    if (report.epoch != next_line && !learnt) return;
    console_.info("step {:5}  loss {:.3f}\n", report.epoch, loss);
    next_line = report.epoch * 2;
  };
  train(trainer, task);
  print_profile();
  const int steps = trainer.state().epoch;
  require(loss < least + near,
          "the window was not learnt by heart in {} steps: the loss is {:.3f} still; "
          "look at the learning rate, at dropout, and at the model",
          steps, loss);
  console_.print("learnt by heart in {} steps\n", steps);
  print_json(trainer, 0);
}

}  // namespace unroll
