// The loop: epochs, their steps, the windows of a step. What these call stands below, in trainer_step.cpp, trainer_shards.cpp,
// trainer_checkpoints.cpp and trainer_records.cpp.
#include "training/trainer.h"

#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/ranges.h>

#include "data/text_file.h"
#include "framework/clock.h"
#include "framework/processes/processes.h"
#include "framework/profile.h"
#include "framework/signals.h"

namespace unroll {

void Trainer::run(const TrainingTask& task) {
  begin(task);
  while (!finished() && !stopped_) {
    try {
      train_epoch(task);
      finish_epoch(task);
    } catch (const Interrupted&) {  // resumption repeats the step or the validation that was given up
      save(task, last_checkpoint);
      throw;
    } catch (const Diverged& reason) {
      if (options_.on_divergence != OnDivergence::rollback) throw;
      roll_back(task, reason);
      continue;
    }
    if (task.after_epoch)
      ranks_.call_in_first([&] {
        const AveragedWeights averaged(optimizer_);
        task.after_epoch(epochs_.back());
      });
    stopped_ = ranks_.agree_on(stopped_);
    ranks_.stop_if_asked();
  }
}

void Trainer::train_epoch(const TrainingTask& task) {
  state_.windows = windows_of(task);
  if (state_.window == 0 && task.begin_epoch) task.begin_epoch(state_.epoch + 1);
  Progress progress = progress_of_epoch();
  epoch_begin_ = times_, epoch_began_ = clock_seconds();
  while (state_.window < state_.windows) {
    of_untrained_.reset();
    uint32_t step = optimizer_.parameters().step();
    train_step(task, !ahead_);
    if (ahead_ && is_time_to_look(progress)) step = catch_up(task).value_or(step);
    const bool stepped = optimizer_.parameters().step() != step;
    show(progress);
    if (stepped && is_log_due()) log_interval();
    if (save_is_due(stepped)) save(task, last_checkpoint);
    ranks_.stop_if_asked();
  }
}

// The windows of one step of the optimizer. Watched, the host looks at each loss and at the gradient's norm, and one that is
// not finite is Diverged. Else it asks a GPU for all of it and goes on: the GPU looks itself, and catch_up() sees later what
// became of the step.
void Trainer::train_step(const TrainingTask& task, bool watched) {
  Step step = begin_step(task, watched);
  try {
    if (options_.shards > 1) train_shards(task, step), step.window = step.end;
    for (; step.window < step.end; ++step.window) {
      if (watched && step.window > step.begin && step.can_begin_again) stop_if_signalled();
      const int64_t kind = task.load ? task.load(chosen(step.window)) : 0;
      if (watched)
        train_window(task, step);
      else
        ask_for_window(task, step, kind);
    }
    finish_step(step);
  } catch (const Diverged& reason) {
    give_up(task, step);
    if (!watched || options_.on_divergence != OnDivergence::skip) throw;
    skip(reason);
  } catch (...) {  // the next run() begins this step again
    give_up(task, step);
    throw;
  }
  state_.window = step.end;
}

// A window's loss and gradient; after the step's last one the optimizer; then what crosses to the next. A graph is a recording
// of this.
RunAhead::WindowFacts Trainer::train_window(const TrainingTask& task, Step& step) {
  RunAhead::WindowFacts facts;
  compute_window(task, step, facts);
  if (!recording_graph()) order(step, facts);  // else before the graph is played
  if (step.is_last()) update(task, step);
  if (task.carry) task.carry();
  return facts;
}

void Trainer::carry_shard(const TrainingTask& task, const WindowLoss& loss) {
  if (loss.carry)
    loss.carry();
  else if (task.carry)
    task.carry();
}

// A window's loss and gradient, or those of the step's shard of it, which then carries to the next window what crosses. False: the
// shard has no part of the window.
bool Trainer::compute_window(const TrainingTask& task, Step& step, RunAhead::WindowFacts& facts,
                             const BeginBackward& begin_backward) {
  TapeOptions options{.part = step.part()};
  if (begin_backward) {  // a contribution that comes after its parameter is complete would be lost
    options.check_inputs = true;
    options.observer = &*sums_;
  }
  Tape tape(options);
  try {
    const WindowLoss loss =
        options_.shards > 1 ? task.shard_loss(chosen(step.window), step.shard)
                             : task.loss(chosen(step.window));
    if (options_.shards > 1 && !loss.objective.value().defined()) return false;
    facts = {loss.count, loss.rate_factor};
    add_loss(loss, step, tape);
    if (begin_backward) begin_backward(facts);
    tape.backward(loss.objective, static_cast<real>(step.scale * loss.share));
    if (options_.shards > 1) carry_shard(task, loss);
    return true;
  } catch (const MemoryRefused& refusal) {
    if (recording_graph()) throw;  // it may well fit without
    throw OutOfMemory(memory_advice(refusal, tape, bytes_of_slabs(), options_.window_sizes));
  }
}

void Trainer::finish_epoch(const TrainingTask& task) {
  const Times times = times_.since(epoch_begin_);
  EpochReport report{.epoch = state_.epoch + 1,
                     .learning_rate = state_.learning_rate,
                     .train = shown(mean_loss_so_far()),
                     .valid = {},
                     .count = state_.count,
                     .seconds = times.training,
                     .rate = times.rate()};
  if (LossScale* const loss = loss_scale()) report.skipped = loss->skipped_in_epoch;
  if (task.observer) report.metrics = task.observer->end_epoch(state_, ranks_);
  if (task.validate) validate(task, report);
  if (task.metrics && ranks_.first()) add_metrics(task, report);
  const LogRecord record{.kind = LogRecord::Kind::epoch,
                         .loss = mean_loss_so_far(),
                         .valid = report.valid,
                         .best = report.best,
                         .metrics = report.metrics,
                         .rate = report.rate};
  state_.train = report.train, state_.valid = report.valid;
  state_.all_count += state_.count;
  state_.total = 0;
  state_.count = state_.window = 0;
  if (LossScale* const loss = loss_scale()) loss->skipped_in_epoch = 0;
  ++state_.epoch;
  if (ahead_) ahead_->set_totals(state_);
  write(record);
  print(report);
  epochs_.push_back(report);
  // In this order: whoever was killed between two of them comes here again.
  const int keep_every = options_.checkpoints.keep_every_epochs;
  if (keep_every > 0 && state_.epoch % keep_every == 0) save(task, kept_checkpoint(state_.epoch).c_str());
  if (report.best) save(task, best_checkpoint);
  save(task, last_checkpoint);
}

void Trainer::validate(const TrainingTask& task, EpochReport& report) {
  {
    const AveragedWeights averaged(optimizer_);
    const Profile::Part part("validation");
    report.valid = ranks_.score(task.shared_validation, task.validate);
  }
  if (!std::isfinite(*report.valid))
    throw state_.diverged(state_.windows - 1, fmt::format("the validation score is {}", *report.valid));
  report.best = !state_.best || *report.valid < *state_.best;
  if (report.best) state_.best = report.valid, state_.best_epoch = report.epoch;
  if (state_.schedule) state_.schedule->validated(*report.valid);
  // The trigger looks at the weights in use so far, so it comes after they were scored.
  if (options_.non_monotone > 0 && !optimizer_.averages() && state_.trigger(*report.valid))
    dynamic_cast<Asgd&>(optimizer_).start_averaging();
}

void Trainer::add_metrics(const TrainingTask& task, EpochReport& report) {
  const AveragedWeights averaged(optimizer_);
  const Profile::Part part("metrics");
  for (const Scalar& metric : task.metrics()) {
    require(!metric.name.empty(), "trainer: metric {} has no name", report.metrics.size() + 1);
    require(std::ranges::find(report.metrics, metric.name, &Scalar::name) == report.metrics.end(),
            "trainer: two metrics have the name '{}'", metric.name);
    report.metrics.push_back(metric);
  }
}

// --- before the first epoch --------------------------------------------------------------------------------

WindowLoss mean_loss(const Var& mean, int64_t count) { return {mean, mean, count}; }

Trainer::Trainer(Optimizer& optimizer, TrainerOptions options)
    : optimizer_(optimizer), options_(std::move(options)) {
  require(options_.epochs >= 0, "trainer: {} epochs are less than none", options_.epochs);
  require(options_.accumulate >= 1, "trainer: accumulate {} must be at least 1", options_.accumulate);
  require(options_.shards >= 1, "trainer: shards {} must be at least 1", options_.shards);
  require(options_.shards % process_count() == 0,
          "trainer: {} processes were started, and TrainerOptions::shards is {}: {} can share them",
          process_count(), options_.shards, fmt::join(processes_for(options_.shards), ", "));
  if (!is_first_process()) options_.progress.mode = ProgressOptions::Mode::silent;
  require(options_.clip >= 0, "trainer: clip {} is negative", options_.clip);
  require(options_.patience >= 0, "trainer: patience {} is negative", options_.patience);
  require(options_.log_every >= 1, "trainer: log_every {} must be at least 1", options_.log_every);
  require(options_.non_monotone >= 0, "trainer: non_monotone {} is negative", options_.non_monotone);
  require(options_.non_monotone == 0 || dynamic_cast<Asgd*>(&optimizer_),
          "trainer: non_monotone is for an Asgd; {} keeps no averages", optimizer_.name());
  require(options_.on_divergence != OnDivergence::rollback || !options_.folder.empty(),
          "trainer: a rollback needs a folder with checkpoints");
  const CheckpointOptions& saves = options_.checkpoints;
  require(saves.every_steps >= 0, "trainer: a checkpoint after {} steps is none", saves.every_steps);
  require(saves.every_minutes >= 0, "trainer: a checkpoint after {} minutes is none", saves.every_minutes);
  require(saves.keep_every_epochs >= 0, "trainer: a checkpoint after {} epochs is none",
          saves.keep_every_epochs);
  if (const auto& schedule = options_.schedule) {
    schedule->check();
    if (const auto momentum = schedule->momentum_at(0))
      optimizer_.set_momentum(*momentum);  // or says why not
  }
  state_.schedule = options_.schedule;
  state_.trigger.patience = options_.non_monotone;
}

// Anything that a run would write over.
static bool has_run(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  const fs::path log = folder / log_file;
  return has_own_file(folder / last_checkpoint) || has_own_file(folder / best_checkpoint) ||
         (has_own_file(log) && fs::file_size(log) > 0);
}

static bool names_what_it_carries(const TrainingTask& task) { return !task.carry || !task.carried.empty(); }

void Trainer::check(const TrainingTask& task) const {
  require((task.windows > 0 || task.cut) && (task.loss || options_.shards > 1),
          "trainer: a task needs windows and a loss");
  const bool can_go_back = names_what_it_carries(task);
  if (options_.shards > 1) {
    require(task.shard_loss != nullptr,
            "trainer: {} shards need a task with the loss of one (TrainingTask::shard_loss)",
            options_.shards);
    require(can_go_back, "trainer: shards need a task that says what it carries (TrainingTask::carried)");
    for (const auto& [name, tensor] : task.carried)
      require(tensor.rank() >= 2, "trainer: of '{}' {}, which is carried, dimension 1 is to be the streams",
              name, tensor.shape());
    require(!options_.graph, "trainer: a graph is of whole windows, and these are computed in {} shards",
            options_.shards);
  }
  if (options_.graph) {
    require(on_gpu(), "trainer: only a GPU plays a step as a graph, and the device is {}", name_of(device()));
    require(task.load != nullptr,
            "trainer: a graph needs a task that loads its windows (TrainingTask::load)");
    require(can_go_back, "trainer: a graph needs a task that says what it carries (TrainingTask::carried)");
  }
  require(
      options_.on_divergence != OnDivergence::skip || options_.accumulate == 1 || can_go_back,
      "trainer: to leave out a step of several windows, a task must say what it carries (TrainingTask::carried)");
  require(
      options_.folder.empty() || can_go_back,
      "trainer: a run with a folder may go on from the middle of an epoch; its task must say what it carries "
      "(TrainingTask::carried)");
  require(
      task.validate || (options_.patience == 0 && options_.non_monotone == 0 &&
                        !(options_.schedule && options_.schedule->kind == Schedule::Kind::plateau)),
      "trainer: patience, non_monotone and a plateau schedule look at validation scores; the task has no validate");
  if (!options_.folder.empty() && !log_ && is_first_process()) {
    require(finished() || !has_run(options_.folder),
            "trainer: {} has a run already: resume() goes on with it, or choose another folder",
            options_.folder.string());
    check_checkpoint(options_.folder / last_checkpoint, optimizer_, state_, task.carried,
                     options_.checkpoints);
  }
}

void Trainer::begin(const TrainingTask& task) {
  check(task);
  if (task.observer) task.observer->begin(task, optimizer_);
  stopped_ = false;
  if (!finished()) open_log();
  ahead_.reset();
  if (options_.shards > 1) sums_.emplace(optimizer_.parameters(), options_.shards);
  if (on_gpu() && options_.shards == 1 && names_what_it_carries(task)) {
    ahead_.emplace(optimizer_, task.carried, options_.graph);
    ahead_->set_totals(state_);
  }
  ranks_.begin(options_.checkpoints.every_minutes);
  // What a rollback in the first epoch goes back to.
  if (options_.on_divergence == OnDivergence::rollback && !finished() &&
      !ranks_.asked_of_first([&] { return has_own_file(options_.folder / last_checkpoint); }))
    save(task, last_checkpoint);
}

int64_t Trainer::windows_of(const TrainingTask& task) {
  const int64_t windows = task.cut ? task.cut(state_.epoch + 1) : task.windows;
  require(windows > 0, "trainer: epoch {} has no windows", state_.epoch + 1);
  chosen_.clear();
  if (task.observer) task.observer->begin_epoch(state_, options_.patience);
  if (!task.sample) return windows;
  chosen_ = task.sample(state_.epoch + 1);
  require(!chosen_.empty(), "trainer: the sample of epoch {} has no windows", state_.epoch + 1);
  for (const int64_t window : chosen_)
    require(window >= 0 && window < windows, "trainer: the sample of epoch {} has window {}; there are {}, from 0 on",
            state_.epoch + 1, window, windows);
  return std::ssize(chosen_);
}

int64_t Trainer::chosen(int64_t window) const {
  return chosen_.empty() ? window : chosen_[static_cast<size_t>(window)];
}

}  // namespace unroll
