// The loop: epochs and their steps. trainer_checkpoints.cpp has what is saved and read, steps/ how a step is made.
#include "training/trainer.h"

#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "data/text_file.h"
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
  Progress progress = records_.progress();
  records_.begin_epoch();
  while (state_.window < state_.windows) {
    of_untrained_.reset();
    uint32_t step = training_.step();
    steps_->take(task);
    if (is_time_to_look(progress)) step = steps_->look(task).value_or(step);
    const bool stepped = training_.step() != step;
    records_.show(progress);
    if (stepped && records_.interval_is_due()) {
      records_.write_interval();
      steps_->state_changed();
    }
    if (save_is_due(stepped)) save(task, last_checkpoint);
    ranks_.stop_if_asked();
  }
}

bool Trainer::is_time_to_look(const Progress& progress) const {
  return state_.window == state_.windows || progress.due(state_.window) || records_.interval_is_due() ||
         save_is_due(true) || signal_received() || steps_->should_look();
}

void Trainer::finish_epoch(const TrainingTask& task) {
  const TrainingTimes times = records_.times_of_epoch();
  EpochReport report{.epoch = state_.epoch + 1,
                     .learning_rate = state_.learning_rate,
                     .train = training_.shown(training_.mean_loss()),
                     .valid = {},
                     .count = state_.count,
                     .seconds = times.training,
                     .rate = times.rate()};
  if (LossScale* const loss = training_.loss_scale()) report.skipped = loss->skipped_in_epoch;
  if (task.validates()) validate(task, report);
  if (task.metrics && ranks_.first()) add_metrics(task, report);
  const LogRecord record{.kind = LogRecord::Kind::epoch,
                         .loss = training_.mean_loss(),
                         .valid = report.valid,
                         .best = report.best,
                         .metrics = report.metrics,
                         .rate = report.rate};
  state_.train = report.train, state_.valid = report.valid;
  state_.all_count += state_.count;
  state_.total = 0;
  state_.count = state_.window = 0;
  if (LossScale* const loss = training_.loss_scale()) loss->skipped_in_epoch = 0;
  ++state_.epoch;
  steps_->state_changed();
  records_.write(record);
  records_.print(report);
  epochs_.push_back(report);
  // In this order: whoever was killed before the best one comes here again, or else goes on from it.
  const int keep_every = options_.checkpoints.keep_every_epochs;
  if (keep_every > 0 && state_.epoch % keep_every == 0) save(task, kept_checkpoint(state_.epoch).c_str());
  if (report.best) save(task, best_checkpoint);
  save(task, last_checkpoint);
}

double Trainer::score(const TrainingTask& task, int64_t window) {
  const Profile::Part part("validation");
  const double score = ranks_.score(task.shared_validation, task.validate);
  if (!std::isfinite(score)) throw state_.diverged(window, fmt::format("the validation score is {}", score));
  return score;
}

void Trainer::validate(const TrainingTask& task, EpochReport& report) {
  {
    const AveragedWeights averaged(optimizer_);
    report.valid = score(task, state_.windows - 1);
  }
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

Trainer::Trainer(Optimizer& optimizer, TrainerOptions options)
    : training_{.optimizer = optimizer, .options = std::move(options)} {
  check_options(options_, optimizer_);
  if (!ranks_.first()) training_.options.progress.mode = ProgressOptions::Mode::silent;
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

void Trainer::check(const TrainingTask& task) const {
  check_steps(options_, task);
  const bool can_go_back = task.names_what_it_carries();
  require(
      options_.on_divergence != OnDivergence::skip || options_.accumulate == 1 || can_go_back,
      "trainer: to leave out a step of several windows, a task must say what it carries (TrainingTask::carried)");
  require(
      options_.folder.empty() || can_go_back,
      "trainer: a run with a folder may go on from the middle of an epoch; its task must say what it carries "
      "(TrainingTask::carried)");
  require(
      task.validates() || (options_.patience == 0 && options_.non_monotone == 0 &&
                           !(options_.schedule && options_.schedule->kind == Schedule::Kind::plateau)),
      "trainer: patience, non_monotone and a plateau schedule look at validation scores; the task has no validate");
  if (!options_.folder.empty() && !records_.has_log() && ranks_.first()) {
    require(finished() || !has_run(options_.folder),
            "trainer: {} has a run already: resume() goes on with it, or choose another folder",
            options_.folder.string());
    check_checkpoint(options_.folder / last_checkpoint, optimizer_, state_, task.carried,
                     options_.checkpoints);
  }
}

void Trainer::begin(const TrainingTask& task) {
  check(task);
  stopped_ = false;
  if (!finished()) records_.open();
  steps_ = choose_steps(training_, task);
  ranks_.begin(options_.checkpoints.every_minutes);
  // A rollback in the first epoch goes back to this.
  if (options_.on_divergence == OnDivergence::rollback && !finished() && !has_checkpoint(last_checkpoint))
    save(task, last_checkpoint);
}

int64_t Trainer::windows_of(const TrainingTask& task) {
  const int64_t windows = task.cut ? task.cut(state_.epoch + 1) : task.windows;
  require(windows > 0, "trainer: epoch {} has no windows", state_.epoch + 1);
  training_.sample.clear();
  if (!task.sample) return windows;
  training_.sample = task.sample(state_.epoch + 1);
  require(!training_.sample.empty(), "trainer: the sample of epoch {} has no windows", state_.epoch + 1);
  for (const int64_t window : training_.sample)
    require(window >= 0 && window < windows,
            "trainer: the sample of epoch {} has window {}; there are {}, from 0 on", state_.epoch + 1,
            window, windows);
  return std::ssize(training_.sample);
}

}  // namespace unroll
