#include "training/trainer.h"

#include <chrono>
#include <cmath>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace unroll::inline UNROLL_REAL {

namespace {

double clock_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// A window may have nothing to predict.
double mean_of(double total, int64_t count) { return count > 0 ? total / static_cast<double>(count) : total; }

// All of one width: " 4.1234", "  87.31", " 1234.5".
std::string score_text(double score) {
  if (score < 10) return fmt::format("{:>7.4f}", score);
  return score < 1000 ? fmt::format("{:>7.2f}", score) : fmt::format("{:>7.5g}", score);
}

}  // namespace

WindowLoss mean_loss(const Var& mean, int64_t count) {
  return {mean, static_cast<double>(mean.item()) * static_cast<double>(count), count};
}

Trainer::Trainer(Optimizer& optimizer, TrainerOptions options)
    : optimizer_(optimizer), options_(std::move(options)) {
  require(options_.epochs >= 0, "trainer: {} epochs are less than none", options_.epochs);
  require(options_.accumulate >= 1, "trainer: accumulate {} must be at least 1", options_.accumulate);
  require(options_.clip >= 0, "trainer: clip {} is negative", options_.clip);
  require(options_.non_monotone == 0 || dynamic_cast<Asgd*>(&optimizer_),
          "trainer: non_monotone is for an Asgd; {} keeps no averages", optimizer_.name());
  if (options_.schedule) options_.schedule->check();
  state_.schedule = options_.schedule;
  state_.trigger.patience = options_.non_monotone;
}

void Trainer::run(const TrainingTask& task) {
  require(task.windows > 0 && task.loss, "trainer: a task needs windows and a loss");
  stopped_ = false;
  epochs_.reserve(static_cast<size_t>(options_.epochs));
  while (state_.epoch < options_.epochs && !stopped_) {
    train_epoch(task);
    epochs_.push_back(finish_epoch(task));
    if (task.save) {
      const AveragedWeights averaged(optimizer_);
      task.save(epochs_.back());
    }
  }
}

void Trainer::train_epoch(const TrainingTask& task) {
  if (state_.window == 0 && task.begin_epoch) task.begin_epoch(state_.epoch + 1);
  ProgressOptions progress_options = options_.progress;
  progress_options.done_before = state_.window;
  Progress progress(fmt::format("epoch {}/{}", state_.epoch + 1, options_.epochs), task.windows,
                    progress_options);
  const std::string rate_name = options_.unit + "/s";
  const double begin = clock_seconds() - state_.seconds;
  while (state_.window < task.windows) {
    train_window(task);
    state_.seconds = clock_seconds() - begin;
    const double mean = mean_of(state_.total, state_.count);
    const double rate = static_cast<double>(state_.count) / state_.seconds;
    if (options_.perplexity)
      progress.update(state_.window,
                      {{"loss", mean}, {"perplexity", std::exp(mean)}, {rate_name, rate, true}});
    else
      progress.update(state_.window, {{"loss", mean}, {rate_name, rate, true}});
  }
}

// One window, and where a group of `accumulate` windows is complete, a step.
void Trainer::train_window(const TrainingTask& task) {
  {
    Tape tape;
    const WindowLoss loss = task.loss(state_.window);
    const double mean = mean_of(loss.total, loss.count);
    require(std::isfinite(shown(mean)),
            "training has diverged: the loss is {} in epoch {}, window {} of {}; a lower learning rate or "
            "clipping "
            "may help",
            mean, state_.epoch + 1, state_.window + 1, task.windows);
    tape.backward(loss.objective);
    state_.total += loss.total;
    state_.count += loss.count;
  }
  if (task.carry) task.carry();
  const int64_t in_group = state_.window % options_.accumulate + 1;
  ++state_.window;
  if (in_group < options_.accumulate && state_.window < task.windows) return;
  if (state_.schedule)
    optimizer_.set_learning_rate(state_.schedule->rate(state_.epoch, optimizer_.parameters().step()));
  if (state_.window <= options_.accumulate) state_.learning_rate = optimizer_.learning_rate();
  optimizer_.step({.max_norm = options_.clip, .factor = 1.0 / static_cast<double>(in_group)});
}

EpochReport Trainer::finish_epoch(const TrainingTask& task) {
  EpochReport report{.epoch = state_.epoch + 1,
                     .learning_rate = state_.learning_rate,
                     .train = shown(mean_of(state_.total, state_.count)),
                     .valid = {},
                     .count = state_.count,
                     .seconds = state_.seconds};
  if (task.validate) {
    const AveragedWeights averaged(optimizer_);
    report.valid = task.validate();
    report.best = !state_.best || *report.valid < *state_.best;
    if (report.best) state_.best = report.valid, state_.best_epoch = report.epoch;
    if (state_.schedule) state_.schedule->validated(*report.valid);
  }
  // The trigger looks at the weights in use so far, so it comes after they were scored.
  if (report.valid && options_.non_monotone > 0 && !optimizer_.averages() && state_.trigger(*report.valid))
    dynamic_cast<Asgd&>(optimizer_).start_averaging();
  state_.all_count += state_.count;
  state_.all_seconds += state_.seconds;
  state_.total = state_.seconds = 0;
  state_.count = state_.window = 0;
  ++state_.epoch;
  print(report);
  log(report);
  return report;
}

double Trainer::shown(double mean) const { return options_.perplexity ? std::exp(mean) : mean; }

// "epoch  3/13  lr 1        train 121.32  valid 130.85*  11.7k words/s   1:19"
void Trainer::print(const EpochReport& report) const {
  if (options_.progress.mode == ProgressOptions::Mode::silent) return;
  const std::string last = std::to_string(options_.epochs);
  std::string line = fmt::format("epoch {:>{}}/{}  lr {:<8.3g}  train {}", report.epoch, last.size(), last,
                                 report.learning_rate, score_text(report.train));
  if (report.valid) line += fmt::format("  valid {}{}", score_text(*report.valid), report.best ? '*' : ' ');
  line += fmt::format("  {:>5} {}/s  {:>5}", format_number(report.rate()), options_.unit,
                      format_duration(report.seconds));
  fmt::print(options_.progress.stream, "{}\n", line);
  std::fflush(options_.progress.stream);
}

void Trainer::log(const EpochReport& report) const {
  if (options_.log.empty()) return;
  const std::string name = options_.perplexity ? "perplexity" : "loss";
  nlohmann::ordered_json record{
      {"epoch", report.epoch}, {"learning_rate", report.learning_rate}, {"train_" + name, report.train}};
  if (report.valid) record["valid_" + name] = *report.valid;
  record[options_.unit] = report.count;
  record["seconds"] = report.seconds;
  record[options_.unit + "_per_second"] = report.rate();
  std::ofstream file(options_.log, std::ios::app);
  file << record.dump() << '\n' << std::flush;
  require(file.good(), "{}: the log cannot be written", options_.log.string());
}

}  // namespace unroll::inline UNROLL_REAL
