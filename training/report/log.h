// The log of a run: what was measured while it trained, a line of JSON for each interval and each epoch in
// `log.jsonl`, and the same figures as events for TensorBoard.
//
//   {"kind":"interval","step":100,"epoch":1,"words":40000,"loss":6.1,"perplexity":445.9,"learning_rate":1.0,
//    "gradient_norm":3.2,"time":{"seconds":3.6,"words_per_second":11100.0}}
//   {"kind":"epoch","step":2323,"epoch":1,"words":929200,"loss":5.6,"perplexity":270.4,"learning_rate":1.0,
//    "valid_perplexity":181.0,"best":true,"time":{"seconds":83.1,"words_per_second":11182.0}}
//
// Where the schedule moves the momentum, "momentum":0.85 stands after "learning_rate" in all of them.
//
// Metrics of a program's own stand before "time" of an epoch: "metrics":{"accuracy":0.91}.
//
// In fp16 "loss_scale":65536.0,"skipped_steps":3 stand before "time" in both.
//
// A run that goes on with other data to validate on, or another way to score, says what its best weights score then. Validation
// scores before that record do not compare with later ones. "epoch" is that of the weights; there is no score where nothing
// is validated any more:
//
//   {"kind":"anew","step":2323,"epoch":1,"words":929200,"learning_rate":1.0,"valid_perplexity":190.2,"best":true,"time":…}
//
// Keys and their order are fixed, numbers are written so that they read back as they were, and all that
// depends on the clock stands under "time", the last key: two runs that computed the same differ in nothing
// else.
//
// How a trainer uses it: one RunLog for the run's folder; write() after a step that completes an interval,
// and after an epoch was validated, in either case before the checkpoint that follows, so that what a
// checkpoint has seen is in the log. A run that goes back to a checkpoint, on resumption or after a loss that is not
// finite, calls cut_after() with the checkpoint's position. The sums of the interval so far belong into the
// checkpoint: the interval that it falls into then comes out the same.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "training/files/append_file.h"
#include "training/report/tensorboard.h"

namespace unroll {

constexpr const char* log_file = "log.jsonl";  // in a run's folder

struct LogRecord {
  enum class Kind : uint8_t { interval, epoch, anew };
  Kind kind = Kind::interval;
  int64_t step = 0;          // of the optimizer, complete
  int epoch = 0;             // counted from 1: the one that is trained, or is complete, or is the best
  int64_t count = 0;         // predictions in training since its beginning
  double loss = 0;           // mean per prediction, of the interval or the epoch; not anew
  double learning_rate = 0;  // of the last step
  std::optional<double> momentum = {};  // of the last step (of adam: beta1), where the schedule moves it
  std::optional<double> gradient_norm = {};  // of an interval's last step, before clipping
  std::optional<double> valid = {};          // of an epoch, and anew: the validation score …
  bool best = false;                         // … and whether it is the best so far
  std::vector<Scalar> metrics = {};          // of an epoch: a program's own, each under its name
  std::optional<double> loss_scale = {};     // in fp16 (loss_scale.h): by what the loss is multiplied …
  int64_t skipped = 0;                       // … and steps left out since training began
  double seconds = 0;                        // of training since its beginning
  double rate = 0;                           // predictions per second, of the interval or the epoch
};

// A record's metric of that name; NaN: it has none.
double metric_of(const LogRecord& record, const std::string& name);

// How the figures are called.
struct LogNames {
  std::string unit = "words";  // of predictions: "words", "words_per_second"
  bool perplexity = false;     // losses are nats: their exp stands beside them, and `valid` is a perplexity
};

class RunLog {
 public:
  // Goes on at the end of the folder's log, where there is one: a last line that was torn when a process was
  // killed is dropped. Lines that are no records are left out too; then the file as it was stays beside it
  // (damaged()). Throws InputError if something else than a file has its name, Error if it cannot be written.
  explicit RunLog(const std::filesystem::path& folder, LogNames names = {});

  // Throws Error: disk full, …
  void write(const LogRecord& record);

  // Lines that were left out because they are no records, and the file that still has them; a message for each time.
  const std::vector<std::string>& damaged() const { return damaged_; }

  // Drops intervals beyond `step` and epochs beyond `epochs` (complete ones), as if they had never been. The
  // file is replaced whole or not at all.
  void cut_after(int64_t step, int epochs);

 private:
  void keep(const std::function<bool(const LogRecord&)>& stays);
  LogNames names_;
  std::filesystem::path path_;
  std::vector<std::string> damaged_;
  AppendFile file_;
  EventFile events_;
};

// The records of a log, in their order; a torn last line is left out. Throws InputError "log.jsonl:7: …": a
// line is no record, or its figures have other names. With `damaged` such lines are left out, and said there.
std::vector<LogRecord> read_log(const std::filesystem::path& path, const LogNames& names = {},
                                std::vector<std::string>* damaged = nullptr);

}  // namespace unroll
