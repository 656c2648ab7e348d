#include "training/records.h"

#include <cmath>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "framework/clock.h"
#include "framework/one_line.h"
#include "training/checkpoint.h"
#include "training/run_folder.h"

namespace unroll {

Progress Records::progress() const {
  ProgressOptions options = training_.options.progress;
  options.done_before = training_.state.window;
  return Progress(fmt::format("epoch {}/{}", training_.state.epoch + 1, training_.options.epochs),
                  training_.state.windows, options);
}

void Records::begin_epoch() {
  epoch_begin_ = training_.times;
  epoch_began_ = clock_seconds();
}

void Records::show(Progress& progress) {
  if (!training_.notice.empty()) {
    progress.clear();
    print(std::exchange(training_.notice, {}));
  }
  training_.times.training = epoch_begin_.training + clock_seconds() - epoch_began_ -
                             (training_.times.saving - epoch_begin_.saving) -
                             (training_.times.logging - epoch_begin_.logging);
  const double mean = training_.mean_loss(), rate = times_of_epoch().rate();
  const std::string rate_name = training_.options.unit + "/s";
  if (training_.options.perplexity)
    progress.update(training_.state.window,
                    {{"loss", mean}, {"perplexity", std::exp(mean)}, {rate_name, rate, true}});
  else
    progress.update(training_.state.window, {{"loss", mean}, {rate_name, rate, true}});
}

void Records::print(const std::string& line) const {
  if (training_.options.progress.mode == ProgressOptions::Mode::silent) return;
  std::fprintf(training_.options.progress.stream, "%s\n",
               line.c_str());  // of a terminal that is gone, no exception
  std::fflush(training_.options.progress.stream);
}

// "epoch  3/13  lr 1        train 121.32  valid 130.85*  11.7k words/s   1:19"
void Records::print(const EpochReport& report) const {
  const std::string last = std::to_string(training_.options.epochs);
  std::string line = fmt::format("epoch {:>{}}/{}  lr {:<8.3g}  train {:>7}", report.epoch, last.size(), last,
                                 report.learning_rate, format_score(report.train));
  if (report.valid)
    line += fmt::format("  valid {:>7}{}", format_score(*report.valid), report.best ? '*' : ' ');
  line += fmt::format("  {:>5} {}/s  {:>5}", format_number(report.rate), training_.options.unit,
                      format_duration(report.seconds));
  for (const auto& [name, value] : report.metrics) line += fmt::format("  {} {:.4g}", name, value);
  if (report.skipped > 0) line += fmt::format("  {} step{} skipped", report.skipped, plural(report.skipped));
  print(line);
}

void Records::open() {
  if (log_ || training_.options.folder.empty() || !training_.ranks.first()) return;
  create_folder(training_.options.folder);
  log_.emplace(training_.options.folder, names());
}

void Records::reopen() {
  if (!training_.ranks.first()) return;
  open();
  log_->cut_after(training_.step(), training_.state.epoch);
  const auto records = read_log(training_.options.folder / log_file, names());
  if (!records.empty()) seconds_before_ = records.back().seconds;
  int logged = 0;  // the last epoch
  for (const LogRecord& record : records)
    if (record.kind == LogRecord::Kind::epoch) logged = record.epoch;
  if (log_lacks_.empty() && log_->damaged().empty() && logged < training_.state.epoch)
    log_lacks_ =
        fmt::format("{}: ends with epoch {} of {} that are complete; what was measured since is in no report",
                    (training_.options.folder / log_file).string(), logged, training_.state.epoch);
}

void Records::cut() {
  if (!log_) return;
  log_->cut_after(training_.step(), training_.state.epoch);
  for (const std::string& line : log_->damaged()) print(line);
}

void Records::note_missing_log() {
  const std::filesystem::path log = training_.options.folder / log_file;
  if (training_.ranks.first() && !has_own_file(log))
    log_lacks_ =
        fmt::format("{}: is missing; what was measured so far is in no log and no report", log.string());
}

std::vector<std::string> Records::damaged() const {
  std::vector<std::string> lines;
  if (!log_lacks_.empty()) lines.push_back(log_lacks_);
  if (log_) lines.insert(lines.end(), log_->damaged().begin(), log_->damaged().end());
  return lines;
}

void Records::write_interval() {
  if (!log_ || training_.state.interval_count == 0) return;
  LogRecord record{
      .kind = LogRecord::Kind::interval,
      .loss = training_.state.interval_total / static_cast<double>(training_.state.interval_count),
      .gradient_norm = training_.gradient_norm,
      .valid = {},
      .rate = training_.times.since(interval_begin_).rate()};
  record.epoch = training_.state.epoch + 1;
  write(record);
  training_.state.interval_total = 0;
  training_.state.interval_count = 0;
  interval_begin_ = training_.times;
}

void Records::write(LogRecord record) {
  if (!log_) return;
  const double begin = clock_seconds();
  if (record.kind == LogRecord::Kind::epoch) record.epoch = training_.state.epoch;
  record.step = training_.step();
  record.count = training_.state.all_count + training_.state.count;
  record.learning_rate = training_.state.learning_rate;
  if (const auto& schedule = training_.state.schedule; schedule && record.step > 0)
    record.momentum = schedule->momentum_at(record.step - 1);
  if (training_.state.loss_scale)
    record.loss_scale = training_.state.loss_scale->scale,
    record.skipped = training_.state.loss_scale->skipped;
  record.seconds = seconds_before_ + training_.times.training;
  log_->write(record);
  training_.times.logging += clock_seconds() - begin;
}

}  // namespace unroll
