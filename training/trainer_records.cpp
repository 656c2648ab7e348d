// What a trainer says: the line of an epoch, the records of the log.
#include <cmath>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "framework/clock.h"
#include "training/run_folder.h"
#include "training/trainer.h"

namespace unroll {

double Trainer::shown(double mean) const { return options_.perplexity ? std::exp(mean) : mean; }

double Trainer::mean_loss_so_far() const {  // a window may have nothing to predict
  return state_.count > 0 ? state_.total / static_cast<double>(state_.count) : state_.total;
}

Progress Trainer::progress_of_epoch() const {
  ProgressOptions options = options_.progress;
  options.done_before = state_.window;
  return Progress(fmt::format("epoch {}/{}", state_.epoch + 1, options_.epochs), state_.windows, options);
}

void Trainer::show(Progress& progress) {
  if (!notice_.empty()) {
    progress.clear();
    print(std::exchange(notice_, {}));
  }
  times_.training = epoch_begin_.training + clock_seconds() - epoch_began_ -
                    (times_.saving - epoch_begin_.saving) - (times_.logging - epoch_begin_.logging);
  const double mean = mean_loss_so_far(), rate = times_.since(epoch_begin_).rate();
  const std::string rate_name = options_.unit + "/s";
  if (options_.perplexity)
    progress.update(state_.window, {{"loss", mean}, {"perplexity", std::exp(mean)}, {rate_name, rate, true}});
  else
    progress.update(state_.window, {{"loss", mean}, {rate_name, rate, true}});
}

void Trainer::print(const std::string& line) const {
  if (options_.progress.mode == ProgressOptions::Mode::silent) return;
  std::fprintf(options_.progress.stream, "%s\n", line.c_str());  // of a terminal that is gone, no exception
  std::fflush(options_.progress.stream);
}

// "epoch  3/13  lr 1        train 121.32  valid 130.85*  11.7k words/s   1:19"
void Trainer::print(const EpochReport& report) const {
  const std::string last = std::to_string(options_.epochs);
  std::string line = fmt::format("epoch {:>{}}/{}  lr {:<8.3g}  train {:>7}", report.epoch, last.size(), last,
                                 report.learning_rate, format_score(report.train));
  if (report.valid)
    line += fmt::format("  valid {:>7}{}", format_score(*report.valid), report.best ? '*' : ' ');
  line += fmt::format("  {:>5} {}/s  {:>5}", format_number(report.rate), options_.unit,
                      format_duration(report.seconds));
  for (const auto& [name, value] : report.metrics) line += fmt::format("  {} {:.4g}", name, value);
  if (report.skipped > 0)
    line += fmt::format("  {} step{} skipped", report.skipped, report.skipped == 1 ? "" : "s");
  print(line);
}

void Trainer::open_log() {
  if (log_ || options_.folder.empty() || !ranks_.first()) return;
  create_folder(options_.folder);
  log_.emplace(options_.folder, log_names());
}

bool Trainer::is_log_due() const { return optimizer_.parameters().step() % options_.log_every == 0; }

void Trainer::log_interval() {
  if (!log_ || state_.interval_count == 0) return;
  LogRecord record{.kind = LogRecord::Kind::interval,
                   .loss = state_.interval_total / static_cast<double>(state_.interval_count),
                   .gradient_norm = gradient_norm_,
                   .valid = {},
                   .rate = times_.since(interval_begin_).rate()};
  record.epoch = state_.epoch + 1;
  write(record);
  state_.interval_total = 0;
  state_.interval_count = 0;
  if (ahead_) ahead_->set_totals(state_);
  interval_begin_ = times_;
}

void Trainer::write(LogRecord record) {
  if (!log_) return;
  const double begin = clock_seconds();
  if (record.kind == LogRecord::Kind::epoch) record.epoch = state_.epoch;
  record.step = optimizer_.parameters().step();
  record.count = state_.all_count + state_.count;
  record.learning_rate = state_.learning_rate;
  if (const auto& schedule = state_.schedule; schedule && record.step > 0)
    record.momentum = schedule->momentum_at(record.step - 1);
  if (state_.loss_scale)
    record.loss_scale = state_.loss_scale->scale, record.skipped = state_.loss_scale->skipped;
  record.seconds = seconds_before_ + times_.training;
  log_->write(record);
  times_.logging += clock_seconds() - begin;
}

}  // namespace unroll
