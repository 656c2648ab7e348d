// Prints and writes down how a training goes: progress, the line of an epoch, the records of the log. Rank 0 alone has a log.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "training/report/log.h"
#include "training/report/progress.h"
#include "training/task.h"
#include "training/training.h"

namespace unroll {

class Records {
 public:
  explicit Records(Training& training) : training_(training) {}
  LogNames names() const { return {training_.options.unit, training_.options.perplexity}; }  // of figures

  bool has_log() const { return log_.has_value(); }  // one is open
  void open();                                       // unless it is open, or the training has no folder
  void reopen();  // the log of a run that goes on, without the records that its checkpoint has not seen
  void cut();  // after the training went back: to its present step. Prints what was left out of a damaged log
  void note_missing_log();                                     // if there is none, damaged() says so
  bool log_is_missing() const { return !log_lacks_.empty(); }  // noted
  std::vector<std::string> damaged() const;  // what was left out of the log, or was never in it

  void begin_epoch();  // or what is left of it
  TrainingTimes times_of_epoch() const { return training_.times.since(epoch_begin_); }  // so far
  Progress progress() const;
  void show(Progress& progress);  // the line, as training stands
  // The present step ends an interval of the log.
  bool interval_is_due() const { return training_.step() % training_.options.log_every == 0; }
  void write_interval();         // ends an interval of the log
  void write(LogRecord record);  // with times and metrics
  void sync() {                  // waits until all records are on the disk
    if (log_) log_->sync();
  }
  void print(const EpochReport& report) const;
  void print(const std::string& line) const;  // where progress is printed

 private:
  Training& training_;
  std::optional<RunLog> log_;
  std::string log_lacks_;                       // what was never in the log; empty: nothing
  TrainingTimes epoch_begin_, interval_begin_;  // Training::times as they stood then
  double epoch_began_ = 0;                      // on the clock
  double seconds_before_ = 0;                   // of training, by the processes before this one
};

}  // namespace unroll
