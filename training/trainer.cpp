#include "training/trainer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "data/text_file.h"
#include "framework/clock.h"
#include "framework/gemm.h"
#include "framework/profile.h"
#include "framework/signals.h"
#include "training/files/atomic_file.h"
#include "training/run_folder.h"
#include "training/files/state_dict.h"

namespace unroll {

namespace {

constexpr int most_skipped = 10;          // steps in a row
constexpr double least_factor = 0x1p-10;  // of the learning rate, after rollbacks

// A window may have nothing to predict.
double mean_of(double total, int64_t count) { return count > 0 ? total / static_cast<double>(count) : total; }

}  // namespace

// What crosses from window to window, as it was before a step of several. Of one window it crosses after the step only.
class Trainer::CarriedBefore {
 public:
  CarriedBefore(const TrainingTask& task, int64_t windows) : task_(task) {
    if (windows > 1)
      for (const NamedTensor& named : task.carried) kept_.push_back(named.tensor.clone());
  }
  void restore() const {
    for (size_t i = 0; i < kept_.size(); ++i) task_.carried[i].tensor.copy_from(kept_[i]);
  }
  bool known() const { return !task_.carry || !kept_.empty(); }

 private:
  const TrainingTask& task_;
  std::vector<Tensor> kept_;
};

WindowLoss mean_loss(const Var& mean, int64_t count) { return {mean, mean, count}; }

Trainer::Trainer(Optimizer& optimizer, TrainerOptions options)
    : optimizer_(optimizer), options_(std::move(options)) {
  require(options_.epochs >= 0, "trainer: {} epochs are less than none", options_.epochs);
  require(options_.accumulate >= 1, "trainer: accumulate {} must be at least 1", options_.accumulate);
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
  if (options_.schedule) options_.schedule->check();
  state_.schedule = options_.schedule;
  state_.trigger.patience = options_.non_monotone;
}

bool Trainer::out_of_patience() const {
  return options_.patience > 0 && state_.best_epoch > 0 &&
         state_.epoch - state_.best_epoch >= options_.patience;
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
  require((task.windows > 0 || task.cut) && task.loss, "trainer: a task needs windows and a loss");
  const bool can_go_back = names_what_it_carries(task);
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
  if (!options_.folder.empty() && !log_) {
    require(finished() || !has_run(options_.folder),
            "trainer: {} has a run already: resume() goes on with it, or choose another folder",
            options_.folder.string());
    check_checkpoint(options_.folder / last_checkpoint, optimizer_, state_, task.carried,
                     options_.checkpoints);
  }
}

void Trainer::run(const TrainingTask& task) {
  check(task);
  stopped_ = false;
  if (!finished()) open_log();
  ahead_.reset();
  if (on_gpu() && names_what_it_carries(task)) {
    ahead_.emplace(optimizer_, task.carried, options_.graph);
    ahead_->set_totals(state_);
  }
  last_save_ = clock_seconds();
  // What a rollback in the first epoch goes back to.
  if (options_.on_divergence == OnDivergence::rollback && !finished() &&
      !has_own_file(options_.folder / last_checkpoint))
    save(task, last_checkpoint);
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
    if (task.after_epoch) {
      const AveragedWeights averaged(optimizer_);
      task.after_epoch(epochs_.back());
    }
    stop_if_signalled();
  }
}

// --- training ----------------------------------------------------------------------------------------------

int64_t Trainer::windows_of(const TrainingTask& task) const {
  const int64_t windows = task.cut ? task.cut(state_.epoch + 1) : task.windows;
  require(windows > 0, "trainer: epoch {} has no windows", state_.epoch + 1);
  return windows;
}

void Trainer::train_epoch(const TrainingTask& task) {
  state_.windows = windows_of(task);
  if (state_.window == 0 && task.begin_epoch) task.begin_epoch(state_.epoch + 1);
  ProgressOptions progress_options = options_.progress;
  progress_options.done_before = state_.window;
  Progress progress(fmt::format("epoch {}/{}", state_.epoch + 1, options_.epochs), state_.windows,
                    progress_options);
  const std::string rate_name = options_.unit + "/s";
  epoch_begin_ = times_;
  const double begin = clock_seconds();
  while (state_.window < state_.windows) {
    of_untrained_.reset();
    uint32_t step = optimizer_.parameters().step();
    if (ahead_) {
      ask_for_step(task);
      if (state_.window == state_.windows || progress.due(state_.window) || is_log_due() ||
          save_is_due(true) || signal_received() || ahead_->is_far())
        step = catch_up(task).value_or(step);
    } else {
      train_step(task);
    }
    const bool stepped = optimizer_.parameters().step() != step;
    if (!notice_.empty()) {
      progress.clear();
      say(std::exchange(notice_, {}));
    }
    times_.training = epoch_begin_.training + clock_seconds() - begin -
                      (times_.saving - epoch_begin_.saving) - (times_.logging - epoch_begin_.logging);
    const double mean = mean_of(state_.total, state_.count), rate = times_.since(epoch_begin_).rate();
    if (options_.perplexity)
      progress.update(state_.window,
                      {{"loss", mean}, {"perplexity", std::exp(mean)}, {rate_name, rate, true}});
    else
      progress.update(state_.window, {{"loss", mean}, {rate_name, rate, true}});
    if (stepped && is_log_due()) log_interval();
    if (save_is_due(stepped)) save(task, last_checkpoint);
    stop_if_signalled();
  }
}

// Weights, gradients, and what the optimizer keeps.
int64_t Trainer::bytes_of_slabs() const {
  const int64_t slabs = 2 + std::ssize(optimizer_.state().slabs);
  return slabs * optimizer_.parameters().values().size() * static_cast<int64_t>(sizeof(real));
}

void Trainer::check_count(const WindowLoss& loss, int64_t window) {
  require(loss.count >= 0, "trainer: window {} has {} predictions", window, loss.count);
}

// The windows of one step of the optimizer.
void Trainer::train_step(const TrainingTask& task) {
  const int64_t end = std::min(state_.window + options_.accumulate, state_.windows);
  const real scale = loss_scale() ? static_cast<real>(loss_scale()->scale) : 1;
  const CarriedBefore before(task, end - state_.window);
  double total = 0, rate_factor = 0;
  int64_t count = 0;
  try {
    for (int64_t window = state_.window; window < end; ++window) {
      if (window > state_.window && before.known()) stop_if_signalled();
      {
        Tape tape({.part = static_cast<uint32_t>(window - state_.window)});
        try {
          if (task.load) task.load(window);
          const WindowLoss loss = task.loss(window);
          const double mean = static_cast<double>(loss.mean.item());
          if (!std::isfinite(shown(mean)) || !std::isfinite(loss.objective.item()))
            throw diverged(window,
                           fmt::format("step {}: the loss is {}{}", optimizer_.parameters().step(), mean,
                                       std::isfinite(mean) && !std::isfinite(shown(mean))
                                           ? ", and its exp, the perplexity, is not finite"
                                           : ""),
                           tape.first_not_finite());
          check_count(loss, window);
          tape.backward(loss.objective, scale);
          total += mean * static_cast<double>(loss.count);
          count += loss.count;
          rate_factor += loss.rate_factor;
        } catch (const MemoryRefused& refusal) {
          throw OutOfMemory(memory_advice(refusal, tape, bytes_of_slabs(), options_.window_sizes));
        }
      }
      if (window + 1 == end) update(task, end - state_.window, rate_factor, before);
      if (task.carry) task.carry();
    }
    state_.total += total, state_.interval_total += total;
    state_.count += count, state_.interval_count += count, times_.count += count;
    state_.skipped_in_a_row = 0;
  } catch (const Diverged& reason) {
    optimizer_.parameters().spend_gradients();
    if (options_.on_divergence != OnDivergence::skip) throw;
    before.restore();
    skip(reason);
  } catch (...) {  // the next run() begins this step again
    optimizer_.parameters().spend_gradients();
    before.restore();
    throw;
  }
  state_.window = end;
}

// A step with the gradients of `windows` windows, the last of which is not carried yet; `rate_factor` is the
// sum of theirs.
void Trainer::update(const TrainingTask& task, int64_t windows, double rate_factor,
                     const CarriedBefore& before) {
  const StepOptions step = next_step(windows, rate_factor);
  LossScale* const loss = loss_scale();
  try {
    const Profile::Part part("optimizer step");
    gradient_norm_ = optimizer_.step(step);
    if (loss) loss->succeeded();
  } catch (const Diverged& reason) {
    optimizer_.parameters().spend_gradients();
    if (loss && loss->overflowed()) return;
    const char* const scaled = loss ? " in fp16, with the loss scale at its smallest, 1" : "";
    before.restore();
    const auto [window, first] = trace(task, windows, before.known());
    throw diverged(window, reason.what() + std::string(scaled), first);
  }
}

// Which of a step's windows has the gradient that is not finite, and where it began: they are computed once more, with
// the same masks, on tapes that keep what they see.
std::pair<int64_t, std::string> Trainer::trace(const TrainingTask& task, int64_t windows, bool all) {
  const int64_t last = state_.window + windows - 1;
  try {
    for (int64_t window = all ? state_.window : last; window <= last; ++window) {
      Tape tape({.keep_gradients = true, .part = static_cast<uint32_t>(window - state_.window)});
      if (task.load) task.load(window);
      tape.backward(task.loss(window).objective);
      if (const std::string first = tape.first_not_finite(); !first.empty()) return {window, first};
      if (window < last && task.carry) task.carry();
    }
  } catch (const MemoryRefused&) {}  // such a tape takes more than others: then without
  return {last, ""};
}

StepOptions Trainer::next_step(int64_t windows, double rate_factor) {
  if (state_.schedule) optimizer_.set_learning_rate(state_.next_rate(optimizer_.parameters().step()));
  state_.learning_rate = optimizer_.learning_rate();
  const LossScale* const loss = loss_scale();
  const auto n = static_cast<double>(windows);
  // The norm is measured even where nothing is clipped: it shows what is not finite before it reaches a weight.
  return {.max_norm = options_.clip > 0 ? options_.clip : std::numeric_limits<double>::infinity(),
          .factor = 1 / n / (loss ? loss->scale : 1),
          .rate_factor = rate_factor / n};
}

LossScale* Trainer::loss_scale() {
  if (precision() != Precision::fp16)
    state_.loss_scale.reset();
  else if (!state_.loss_scale)
    state_.loss_scale.emplace();
  return state_.loss_scale ? &*state_.loss_scale : nullptr;
}

void Trainer::finish_epoch(const TrainingTask& task) {
  const Times times = times_.since(epoch_begin_);
  EpochReport report{.epoch = state_.epoch + 1,
                     .learning_rate = state_.learning_rate,
                     .train = shown(mean_of(state_.total, state_.count)),
                     .valid = {},
                     .count = state_.count,
                     .seconds = times.training,
                     .rate = times.rate()};
  if (LossScale* const loss = loss_scale()) report.skipped = loss->skipped_in_epoch;
  if (task.validate) validate(task, report);
  const LogRecord record{.kind = LogRecord::Kind::epoch,
                         .loss = mean_of(state_.total, state_.count),
                         .valid = report.valid,
                         .best = report.best,
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
  // In this order: whoever was killed between the two comes here again.
  if (report.best) save(task, best_checkpoint);
  save(task, last_checkpoint);
}

void Trainer::validate(const TrainingTask& task, EpochReport& report) {
  {
    const AveragedWeights averaged(optimizer_);
    const Profile::Part part("validation");
    report.valid = task.validate();
  }
  if (!std::isfinite(*report.valid))
    throw diverged(state_.windows - 1, fmt::format("the validation score is {}", *report.valid), "");
  report.best = !state_.best || *report.valid < *state_.best;
  if (report.best) state_.best = report.valid, state_.best_epoch = report.epoch;
  if (state_.schedule) state_.schedule->validated(*report.valid);
  // The trigger looks at the weights in use so far, so it comes after they were scored.
  if (options_.non_monotone > 0 && !optimizer_.averages() && state_.trigger(*report.valid))
    dynamic_cast<Asgd&>(optimizer_).start_averaging();
}

// --- saving and going back ---------------------------------------------------------------------------------

void Trainer::open_log() {
  if (log_ || options_.folder.empty()) return;
  create_folder(options_.folder);
  log_.emplace(options_.folder, log_names());
}

bool Trainer::is_log_due() const { return optimizer_.parameters().step() % options_.log_every == 0; }

bool Trainer::save_is_due(bool stepped) const {
  const auto& [every_steps, every_minutes, metadata, of_weights, also] = options_.checkpoints;
  return (stepped && every_steps > 0 && optimizer_.parameters().step() % every_steps == 0) ||
         (every_minutes > 0 && clock_seconds() - last_save_ >= 60 * every_minutes);
}

Differences Trainer::load(const TrainingTask& task, const char* name) {
  const std::filesystem::path path = options_.folder / name;
  Differences differences = read_checkpoint(path, optimizer_, state_, task.carried, options_.checkpoints);
  of_untrained_ = SafetensorsFile(path, Links::refused).metadata();
  return differences;
}

void Trainer::save(const TrainingTask& task, const char* name) {
  if (options_.folder.empty()) return;
  if (ahead_) catch_up(task);
  const double begin = clock_seconds();
  const Profile::Part part("checkpoint");
  CheckpointOptions options = options_.checkpoints;
  if (of_untrained_)
    for (const std::string& key : options.of_weights) {
      options.metadata.erase(key);
      if (const auto found = of_untrained_->find(key); found != of_untrained_->end())
        options.metadata.insert(*found);
    }
  write_checkpoint(options_.folder / name, optimizer_, state_, task.carried, options);
  last_save_ = clock_seconds();
  times_.saving += last_save_ - begin;
}

Diverged Trainer::diverged(int64_t window, const std::string& what, const std::string& first) const {
  return Diverged(fmt::format("training has diverged: {} (epoch {}, window {} of {}{})", what,
                              state_.epoch + 1, window + 1, state_.windows,
                              first.empty() ? "" : "; first not finite: " + first));
}

void Trainer::skip(const Diverged& reason) {
  ++state_.skipped;
  if (++state_.skipped_in_a_row >= most_skipped)
    throw Diverged(fmt::format("{}; {} steps in a row were left out", reason.what(), most_skipped));
  note(fmt::format("left out: {}", reason.what()));
}

void Trainer::roll_back(const TrainingTask& task, const Diverged& reason) {
  const double factor = state_.rate_factor / 2;
  if (factor < least_factor)
    throw Diverged(fmt::format("{}; cutting the learning rate to {:g} of what it was did not help",
                               reason.what(), state_.rate_factor));
  // The best one is named before it is there: what diverges may be what keeps it from being written.
  const bool best = state_.best_epoch > 0 && has_own_file(options_.folder / best_checkpoint);
  const char* name = best ? best_checkpoint : last_checkpoint;
  load(task, name);
  if (!state_.schedule)
    optimizer_.set_learning_rate(optimizer_.learning_rate() * factor / state_.rate_factor);
  state_.rate_factor = factor;
  std::erase_if(epochs_, [&](const EpochReport& report) { return report.epoch > state_.epoch; });
  if (ahead_) ahead_->set_totals(state_);
  save(task, last_checkpoint);  // before the log forgets what was seen by the one that it replaces
  log_->cut_after(optimizer_.parameters().step(), state_.epoch);
  for (const std::string& line : log_->damaged()) say(line);
  say(fmt::format("{}\nback to step {}, the learning rate times {:g}", reason.what(),
                  optimizer_.parameters().step(), factor));
}

}  // namespace unroll
