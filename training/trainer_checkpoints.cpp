// A trainer's checkpoints: when one is written, how a run goes on from one, how it goes back to one.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "data/text_file.h"
#include "framework/clock.h"
#include "framework/profile.h"
#include "training/files/atomic_file.h"
#include "training/trainer.h"

namespace unroll {

static constexpr double least_factor = 0x1p-10;  // of the learning rate, after rollbacks

std::string kept_checkpoint(int epoch) { return fmt::format("epoch-{}.safetensors", epoch); }

bool Trainer::save_is_due(bool stepped) const {
  const int64_t every_steps = options_.checkpoints.every_steps;
  return (stepped && every_steps > 0 && training_.step() % every_steps == 0) || ranks_.save_is_due();
}

bool Trainer::has_checkpoint(const char* name) const {
  return asked_of_first_rank([&] { return has_own_file(options_.folder / name); });
}

Differences Trainer::load(const TrainingTask& task, const char* name) {
  return ranks_.read(options_.folder / name, [&](const SafetensorsFile& file) {
    Differences differences = read_checkpoint(file, optimizer_, state_, task.carried, options_.checkpoints);
    of_untrained_ = file.metadata();
    return differences;
  });
}

void Trainer::save(const TrainingTask& task, const char* name) {
  if (options_.folder.empty()) return;
  if (steps_) steps_->look(task);
  const double begin = clock_seconds();
  const Profile::Part part("checkpoint");
  CheckpointOptions options = options_.checkpoints;
  if (of_untrained_)
    for (const std::string& key : options.of_weights) {
      options.metadata.erase(key);
      if (const auto found = of_untrained_->find(key); found != of_untrained_->end())
        options.metadata.insert(*found);
    }
  ranks_.bring_to_first(task.carried, options_.shards);
  std::string diverged;
  if (ranks_.first()) {
    try {
      records_.sync();  // first: a power cut leaves a log of all that the checkpoint has seen
      write_checkpoint(options_.folder / name, optimizer_, state_, task.carried, options);
    } catch (const Diverged& reason) { diverged = reason.what(); }
  }
  if (diverged = from_first_rank(diverged); !diverged.empty()) throw Diverged(diverged);
  ranks_.saved();
  training_.times.saving += clock_seconds() - begin;
}

// --- going on ----------------------------------------------------------------------------------------------

std::optional<Differences> Trainer::resume(const TrainingTask& task) {
  require(!options_.folder.empty(), "trainer: nothing can be resumed without a folder");
  const std::filesystem::path path = options_.folder / last_checkpoint;
  std::optional<Differences> differences;
  if (asked_of_first_rank([&] { return has_last_checkpoint(options_.folder, records_.names()); })) {
    differences = load(task, last_checkpoint);
    const int64_t windows = state_.window > 0 ? windows_of(task) : 0;
    require_input(
        windows == 0 || state_.windows == windows,
        "{}: it stands at window {} of {} in epoch {}; an epoch of {} windows cannot go on from there",
        path.string(), state_.window, state_.windows, state_.epoch + 1, windows);
    require_input(
        windows == 0 || state_.epoch < options_.epochs,
        "{}: it stands at window {} of {} in epoch {}, with training.epochs = {}: that epoch must be "
        "among them",
        path.string(), state_.window, state_.windows, state_.epoch + 1, options_.epochs);
  }
  if (differences) records_.note_missing_log();
  // A run that is done gets no new log. One of more epochs than asked for is left as it is, for the caller to refuse.
  if (finished() && (!differences || state_.epoch > options_.epochs || records_.log_is_missing()))
    return differences;
  if (differences && !finished()) note_rate_change(*differences);
  if (ranks_.first())
    for (const char* name : {last_checkpoint, best_checkpoint}) remove_partial(options_.folder / name);
  records_.reopen();
  return differences;
}

// A schedule that reckons with more epochs, or another one, may say another rate for the next step than that of the run so
// far. Checkpoints of earlier versions do not know what that would have been: of those a rise is told, which no schedule
// has after its warm-up.
void Trainer::note_rate_change(Differences& differences) const {
  if (!state_.schedule) return;
  const int64_t step = training_.step();
  const double before = state_.learning_rate, next = state_.next_rate(step);
  const auto same = [](double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(a, b); };
  const bool expected = state_.rate_expected ? same(next, *state_.rate_expected)
                                             : next < 1.1 * before || step < state_.schedule->warmup;
  if (step == 0 || expected || same(next, before)) return;
  std::string line = fmt::format("the learning rate goes on from {:.3g} to {:.3g}", before, next);
  const Schedule::Kind kind = state_.schedule->kind;
  if (kind == Schedule::Kind::cosine || kind == Schedule::Kind::one_cycle)
    line += fmt::format(", then down to {:.3g} by step {}", state_.schedule->final_rate * state_.rate_factor,
                        state_.schedule->total);
  differences.push_back(line);
}

void Trainer::score_anew(const TrainingTask& task) {
  require(!options_.folder.empty(), "trainer: there are no checkpoints to score without a folder");
  const auto score_these = [&]() -> std::optional<double> {
    if (!task.validates()) return {};
    const AveragedWeights averaged(optimizer_);
    return score(task, 0);
  };
  const int epochs = state_.epoch;
  int best_epoch = state_.best_epoch;
  // In the middle of an epoch these weights have no score, and get none before its end.
  const std::optional<double> of_last = state_.window == 0 && epochs > 0 ? score_these() : std::nullopt;
  std::optional<double> of_best;
  if (best_epoch > 0 && has_checkpoint(best_checkpoint)) {
    load(task, best_checkpoint);
    best_epoch = state_.best_epoch;  // the last one's may be older: of a process killed between the two below
    of_best = score_these();
  }
  const bool last_is_best = of_last && (!of_best || *of_last < *of_best);
  const auto remember = [&](const std::optional<double>& of_these) {
    state_.valid = of_these;
    state_.best = last_is_best ? of_last : of_best;
    state_.best_epoch = !state_.best ? 0 : last_is_best ? epochs : best_epoch;
    state_.trigger.history.clear();
    if (state_.schedule)
      state_.schedule->best = state_.best.value_or(std::numeric_limits<double>::infinity());
  };
  // The best first: whoever was killed between the two comes here again.
  if (last_is_best) load(task, last_checkpoint);
  remember(last_is_best ? of_last : of_best);
  if (state_.best) save(task, best_checkpoint);
  load(task, last_checkpoint);
  remember(of_last);
  if (!records_.has_log()) records_.reopen();
  records_.write({.kind = LogRecord::Kind::anew,
                  .epoch = state_.best_epoch,
                  .valid = state_.best,
                  .best = state_.best.has_value()});
  save(task, last_checkpoint);  // behind the record: a kill before it brings the run here again
}

void Trainer::roll_back(const TrainingTask& task, const Diverged& reason) {
  const double factor = state_.rate_factor / 2;
  if (factor < least_factor)
    throw Diverged(fmt::format("{}; cutting the learning rate to {:g} of what it was did not help",
                               reason.what(), state_.rate_factor));
  // The best one is named before it is there: what diverges may be what keeps it from being written.
  const bool best = state_.best_epoch > 0 && has_checkpoint(best_checkpoint);
  const char* name = best ? best_checkpoint : last_checkpoint;
  load(task, name);
  if (!state_.schedule)
    optimizer_.set_learning_rate(optimizer_.learning_rate() * factor / state_.rate_factor);
  state_.rate_factor = factor;
  std::erase_if(epochs_, [&](const EpochReport& report) { return report.epoch > state_.epoch; });
  steps_->state_changed();
  save(task, last_checkpoint);  // before the log forgets what was seen by the one that it replaces
  records_.cut();
  records_.print(fmt::format("{}\nback to step {}, the learning rate times {:g}", reason.what(),
                             training_.step(), factor));
}

bool has_last_checkpoint(const std::filesystem::path& folder, const LogNames& names,
                         const std::function<std::string(bool has_best)>& advice) {
  const std::filesystem::path last = folder / last_checkpoint, best = folder / best_checkpoint,
                              log = folder / log_file;
  const bool has_last = has_own_file(last), is_behind = step_of(last) >= 0 && step_of(best) > step_of(last);
  if (has_last && !is_behind) return true;
  const bool has_best = has_own_file(best);
  int64_t epochs = 0;
  if (!has_last && has_own_file(log)) {
    std::vector<std::string> damaged;  // each may have been an epoch's
    epochs = std::ranges::count(read_log(log, names, &damaged), LogRecord::Kind::epoch, &LogRecord::kind);
    epochs += std::ssize(damaged);
  }
  if (epochs <= 1 && !has_best) return false;
  if (is_behind || epochs == 1) {
    (void)SafetensorsFile(best, Links::refused);  // throws if it is damaged
    write_file_atomically(last, read_own_file(best, most_bytes_of_text));
    return true;
  }
  const std::string complete = epochs > 0 ? fmt::format("a log of {} epochs", epochs) : "",
                    there = !has_best    ? complete
                            : epochs > 0 ? fmt::format("{} and {}", best_checkpoint, complete)
                                         : best_checkpoint;
  throw InputError(fmt::format("{}: is missing, and the run is not begun again over {}; {}", last.string(),
                               there,
                               advice     ? advice(has_best)
                               : has_best ? "a copy of the best one in its place lets it go on from there"
                                          : "choose another folder"));
}

}  // namespace unroll
