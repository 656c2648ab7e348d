#include "training/program/run/session.h"

#include <cstdio>

#include "framework/device.h"
#include "framework/gemm.h"
#include "framework/signals.h"
#include "framework/threads.h"
#include "training/program/cli/invocation.h"
#include "training/program/run/run_start.h"
#include "training/run_folder.h"

namespace unroll {

namespace fs = std::filesystem;

Session::Session(RunOptions options, TrainingRun run)
    : options_(std::move(options)),
      run_(std::move(run)),
      console_(options_.console()),
      optimizer_(make_optimizer(run_.sections, run_.params, run_.windows)) {
  const std::string& numbers = run_.sections.training.precision;
  require(precision() == precision_named(numbers),
          "session: the recipe asks for {}, and this process computes in {}: set_up() comes first", numbers,
          name_of(precision()));
  require_input(!run_.graph || on_gpu(),
                "training.graph = true: only a GPU plays a step as a graph, and the device is {}",
                name_of(device()));
  require_input(
      !run_.graph || !options_.profile,
      "--profile measures one operation after the other, and with training.graph = true they are one call: "
      "leave one of the two out");
  require_input(!run_.graph || run_.sections.training.shards == 1,
                "training.graph = true: a graph is of whole windows, and training.shards = {} cuts them",
                run_.sections.training.shards);
}

void Session::take_first_weights() const {
  if (!options_.init_from.empty()) run_.take_first_weights();
}

void Session::introduce() const {
  for (const auto& [name, value, note] : run_.description.facts)
    if (!console_.quiet || name == "warning")
      console_.print("{:<8}{}{}{}\n", name, printable(value), note.empty() ? "" : " ", printable(note));
}

TrainerOptions Session::trainer_options(const fs::path& folder) const {
  const auto& [training, optimizer, schedule] = run_.sections;
  const LogNames& names = run_.description.names;
  const bool triggered = optimizer.kind == OptimizerKind::asgd && optimizer.average_from == 0;
  TrainerOptions options{.epochs = training.epochs,
                         .clip = training.clip,
                         .accumulate = training.accumulate,
                         .shards = training.shards,
                         .schedule = make_schedule(run_.sections, run_.windows),
                         .non_monotone = triggered ? optimizer.non_monotone : 0,
                         .patience = training.patience,
                         .perplexity = names.perplexity,
                         .unit = names.unit,
                         .progress = {.stream = console_.out},
                         .folder = folder,
                         .log_every = training.log_every,
                         .window_sizes = run_.window_sizes,
                         .graph = run_.graph};
  if (console_.quiet) options.progress.mode = ProgressOptions::Mode::silent;
  if (folder.empty()) return options;
  options.on_divergence = training.on_divergence;
  options.checkpoints = {.every_steps = training.save_every_steps,
                         .every_minutes = training.save_every_minutes,
                         .keep_every_epochs = training.keep_every_epochs,
                         .metadata = run_.metadata,
                         .of_weights = run_.of_weights,
                         .also = run_.also};
  return options;
}

void Session::run() {
  // Allocate the weights and read those to start from before there is a folder: a model that is too large, or does not
  // fit, then leaves nothing behind.
  if (!options_.resume) (void)run_.params.values(), take_first_weights();
  compare_ranks();
  introduce_processes();
  const SignalGuard guard;  // from here on there is a folder, which is left with a run in it
  if (!is_first_process()) return follow(from_first_rank(""));
  const fs::path folder = options_.resume ? options_.out : create_run_folder(options_.out, run_.recipe_name);
  from_first_rank(folder.string());
  const RunFolderLock lock(folder);
  if (!options_.resume) check_run_folder(folder);  // another process may have begun and ended in it just now
  introduce();
  if (!lock.stand_in().empty())
    console_.print(
        "warning the file system of {} has no locks; the file {} stands for one while this process trains\n",
        shown(folder), shown(lock.stand_in().filename()));
  console_.info("folder  {}\n", shown(folder));
  const RunStart start{
      options_.program, run_.recipe_name,  options_.data.empty() ? run_.own_data : options_.data,
      threads(),        name_of(device()), options_.init_from,
      process_count()};
  if (!options_.resume) write_run_start(folder, start, run_.recipe);
  Trainer trainer(*optimizer_, trainer_options(folder));
  if (options_.resume) {
    resume(trainer, folder);
    write_run_start(folder, start,
                    run_.recipe);  // with what was changed, now that it is known to be possible
  }
  console_.info("\n");
  describe_run(folder);
  if (options_.resume && trainer.finished())
    keep_what_was_measured(folder);  // the report keeps its results until they are measured again
  else
    write_run_description(folder, description_);
  TrainingTask task = run_.task;
  task.after_epoch = [&](const EpochReport& epoch) {
    if (run_.sample) keep_sample(folder, epoch.epoch, run_.sample(epoch.epoch));
    write_report_in_time(folder);
  };

  try {
    train(trainer, task);
    report(trainer, folder);
  } catch (const Diverged&) {
    throw;  // a resumed run would end there again
  } catch (const Error& error) {
    const bool of_input = dynamic_cast<const InputError*>(&error) != nullptr;
    // Once a step is made, all of the user's input has been read, so an error comes from the run's own files.
    if (of_input && trainer.times().count == 0) throw;
    std::error_code unreadable;
    if (fs::exists(folder / last_checkpoint, unreadable))
      console_.info("\nnext    {} resume {}\n", invocation(options_.program), shell_path(folder));
    if (of_input) throw Error(error.what());
    throw;
  }
  require(std::fflush(stdout) == 0 && !std::ferror(stdout),
          "{}: the run is complete and saved, but the output could not be written", folder.string());
}

void Session::follow(const fs::path& folder) {
  Trainer trainer(*optimizer_, trainer_options(folder));
  if (options_.resume) resume_as_rank_0_does(trainer);
  trainer.run(run_.task);
}

void Session::fit() {
  take_first_weights();
  TrainerOptions options = trainer_options();
  options.progress.mode = ProgressOptions::Mode::silent;
  options.on_divergence = run_.sections.training.on_divergence;
  Trainer trainer(*optimizer_, options);
  const bool best = run_.sections.training.keep == Keep::best;
  Tensor kept;
  TrainingTask task = run_.task;
  task.after_epoch = [&](const EpochReport& epoch) {
    if (!best || epoch.best) kept = run_.params.values().clone();
  };
  const SignalGuard guard;
  trainer.run(task);
  run_.params.values().copy_from(kept);
  stop_if_signalled();  // one that the guard would forget
}

void Session::train(Trainer& trainer, const TrainingTask& task) {
  if (options_.profile && !trainer.finished()) profile_.emplace();
  trainer.run(task);
}

void Session::print_json(const Trainer& trainer, int epochs) const {
  if (!options_.json) return;
  RunResult result{.recipe = run_.recipe_name,
                   .engine = run_.metadata.at("engine"),
                   .precision = name_of(precision()),
                   .seed = run_.sections.training.seed,
                   .init_from = options_.init_from.string(),
                   .parameters = run_.params.count(),
                   .epochs = epochs,
                   .count = trainer.count(),
                   .seconds = trainer.times().training,
                   .rate = trainer.times().rate(),
                   .seconds_saving = trainer.times().saving,
                   .seconds_logging = trainer.times().logging + seconds_of_reports_};
  if (trainer.state().epoch > 0) result.train = trainer.state().train;
  run_.print_json(result);
}

}  // namespace unroll
