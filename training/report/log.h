// The log of a run: measurements during training. `log.jsonl` has a line of JSON for each interval, each epoch, and each time
// that the best weights were scored anew; docs/run-folder.md lists its keys. TensorBoard's events have the same figures.
//
//   {"kind":"interval","step":100,"epoch":1,"words":40000,"loss":6.1,"perplexity":445.9,"learning_rate":1.0,
//    "gradient_norm":3.2,"time":{"seconds":3.6,"words_per_second":11100.0}}
//
// Keys and their order are fixed, and numbers read back exactly. "time", the last key, holds all that depends on the clock, so
// two runs with the same results differ only there. A program's own metrics stand before it: "metrics":{"accuracy":0.91}.
//
// A trainer has one RunLog. It calls write() after a step that completes an interval and after an epoch's validation, both before
// the checkpoint that follows, and sync() just before that: so the log has everything that a checkpoint has seen, after a power cut
// too. A run that goes back to a checkpoint calls cut_after() with its position. The checkpoint must keep the sums of the current
// interval, so that it comes out the same.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "training/files/atomic_file.h"
#include "training/report/tensorboard.h"

namespace unroll {

constexpr const char* log_file = "log.jsonl";  // in a run's folder

// A line of the log.
struct LogRecord {
  enum class Kind : uint8_t { interval, epoch, anew };  // anew: weights were scored again
  Kind kind = Kind::interval;
  int64_t step = 0;          // of the optimizer, complete
  int epoch = 0;             // counted from 1: the one that is trained, or is complete, or is the best
  int64_t count = 0;         // predictions in training since its beginning
  double loss = 0;           // mean per prediction, of the interval or the epoch; not anew
  double learning_rate = 0;  // of the last step
  std::optional<double> momentum = {};       // of the last step (Adam: beta1), if the schedule changes it
  std::optional<double> gradient_norm = {};  // of an interval's last step, before clipping
  std::optional<double> valid = {};          // of an epoch, and anew: the validation score …
  bool best = false;                         // … and whether it is the best so far
  std::vector<Scalar> metrics = {};          // of an epoch: a program's own, each under its name
  std::optional<double> loss_scale = {};     // in fp16 (loss_scale.h): the factor of the loss …
  int64_t skipped = 0;                       // … and steps left out since training began
  double seconds = 0;                        // of training since its beginning
  double rate = 0;                           // predictions per second, of the interval or the epoch
};

// The record's metric of that name; NaN if it has none.
double metric_of(const LogRecord& record, const std::string& name);

// Names of the figures.
struct LogNames {
  std::string unit = "words";  // of predictions: "words", "words_per_second"
  bool perplexity = false;     // losses are nats: their exp stands beside them, and `valid` is a perplexity
  const char* score() const { return perplexity ? "perplexity" : "loss"; }        // its name
  double shown(double loss) const { return perplexity ? std::exp(loss) : loss; }  // as reported
};

class RunLog {
 public:
  // Continues the folder's log if there is one. Drops a last line torn by a killed process, and lines that are no
  // records; a copy of the file then keeps the latter (damaged()). Throws InputError if its name is taken by something
  // other than a file, Error if the log cannot be written.
  explicit RunLog(const std::filesystem::path& folder, LogNames names = {});

  // Throws Error: disk full, …
  void write(const LogRecord& record);
  void sync() { file_.sync(); }  // waits for the disk, not for TensorBoard's events. Throws Error

  // A message for each time that lines were left out because they are no records, with the file that still has them.
  const std::vector<std::string>& damaged() const { return damaged_; }

  // Drops intervals after step `step`, and epochs after the first `epochs` complete ones. The file is replaced whole or
  // not at all.
  void cut_after(int64_t step, int epochs);

 private:
  void keep(const std::function<bool(const LogRecord&)>& stays);
  LogNames names_;
  std::filesystem::path path_;
  std::vector<std::string> damaged_;
  AppendFile file_;
  std::optional<EventFile> events_;  // once there is something to write
  std::optional<int64_t> restart_;   // the step from which on the next file of events counts anew
};

// Returns the records of a log in order, without a torn last line. Throws InputError "log.jsonl:7: …" if a line is no
// record, or its figures have other names. If `damaged` is given, such lines are listed there and skipped instead.
std::vector<LogRecord> read_log(const std::filesystem::path& path, const LogNames& names = {},
                                std::vector<std::string>* damaged = nullptr);

// The course of a training: its log in the form that pictures and tables need.
struct Course {
  std::vector<LogRecord> intervals, epochs;  // in order, by kind
  std::vector<std::string> damaged = {};     // lines of the log that are no records
  int scored_otherwise = 0;                  // epochs up to this one, of which only the best was scored anew

  // The names of the program's own metrics, in order of appearance.
  std::vector<std::string> metrics() const;
  const LogRecord* best() const;  // the epoch with the best validation score so far; nullptr: there is none
};

// The course of the run in a folder. Throws InputError as read_log.
Course read_course(const std::filesystem::path& folder, const LogNames& names);

}  // namespace unroll
