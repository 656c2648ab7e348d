// The loop of a training: task, checkpoints, signals, processes.
#include "docs/reference/examples/examples.h"
#include "framework/signals.h"
#include "training/run_folder.h"

namespace {

void train() {
  //! [Trainer]
  const Folder folder;
  ParameterSet params;
  const Var w = params.add("w", {1}, Init::constant(1)).var();
  Adam adam(params, {.learning_rate = 0.1});
  Trainer trainer(adam, TrainerOptions{.epochs = 3,
                                       .clip = 1,
                                       .progress = {.mode = ProgressOptions::Mode::silent},
                                       .folder = folder.path(),
                                       .checkpoints = CheckpointOptions{.every_minutes = 10}});
  TrainingTask task{.windows = 4};
  task.loss = [&](int64_t) -> WindowLoss { return mean_loss(sum(w * w), 1); };  // called under a tape
  task.validate = [&] { return std::abs(double{w.item()}); };                   // the lower, the better
  trainer.resume(task);  // goes on from the folder's checkpoint, if there is one
  trainer.run(task);
  const EpochReport& last = trainer.epochs().back();
  check(last.epoch == 3 && *last.valid < 1);
  const TrainerState& state = trainer.state();
  check(state.best_epoch == 3 && std::filesystem::exists(folder / best_checkpoint));
  //! [Trainer]

  const WindowLoss of_window = task.loss(0);
  //! [LossFacts]
  const LossFacts facts = of_window.facts();  // what the host knows of a loss before a GPU has computed it
  check(facts.count == 1 && facts.rate_factor == 1);
  //! [LossFacts]
}

void end_in_order() {
  //! [SignalGuard]
  const SignalGuard guard;  // Ctrl-C becomes a question
  try {
    for (int step = 0; step < 3; ++step) stop_if_signalled();
  } catch (const Interrupted& stop) { fmt::print("signal {}: what is done was saved\n", stop.signal); }
  check(signal_received() == 0);
  //! [SignalGuard]

  //! [RunFolderLock]
  const Folder folder;
  const std::filesystem::path run = create_run_folder({}, "demo", folder.path());  // …/demo-1
  const RunFolderLock lock(run);  // InputError if another process has it
  check(run.filename() == "demo-1");
  //! [RunFolderLock]
}

void share() {
  //! [ProcessGroup]
  try {
    ProcessGroup group;  // joins the processes that mpirun started; alone it does nothing
    const LocalProcesses here = local_processes();
    check(here.number < here.processes);
    {
      const AloneForNow alone;  // rank 0's own affair
      check(process_count() == 1);
    }
    group.finish();
  } catch (const OtherRankFailed& failed) {  // that one says why
    std::exit(failed.code);
  }
  //! [ProcessGroup]

  //! [SharedScore]
  const std::vector<double> errors = {1, 2, 3};
  const SharedScore shared{
      .parts = 3,  // shared out among the processes
      .sum = [&](int64_t part) { return ScoreSum{.total = errors[size_t(part)], .count = 1}; },
      .score = [](const ScoreSum& all) { return all.total / double(all.count); }};
  check(near(shared.score(shared_sum(shared)), 2));  // the same bits for any number of them
  //! [SharedScore]
}

}  // namespace

void training() { train(), end_in_order(), share(); }
