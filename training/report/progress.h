// The line that shows the progress of a long piece of work.
//
//   epoch 3/13  1162/2323 [==========>.........] ETA 1:02  loss 4.812  perplexity 123.0  11.7k words/s
//
// On a terminal it is redrawn in place, at most ten times a second, and fitted to the width. Elsewhere a plain line is
// printed for each tenth of the work, and after a minute in any case.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "framework/clock.h"

namespace unroll {

struct ProgressOptions {
  enum class Mode : uint8_t { automatic, terminal, plain, silent };  // how it is shown
  std::FILE* stream = stdout;                                        // where it is printed
  Mode mode = Mode::automatic;                                       // automatic: asks the stream
  double plain_seconds = 5;                                          // without a terminal: no more often
  int width = 0;                                                     // columns; 0: asks the terminal
  int64_t done_before = 0;             // of the steps, before this object began: for a run that goes on
  std::function<double()> clock = {};  // seconds; for tests
};

// A figure to show: "loss 4.812", or a rate: "11.7k words/s". Requires: the name lives during the call.
struct ProgressValue {
  std::string_view name;
  double value = 0;  // of the figure
  bool rate = false;
};

class Progress {
 public:
  // `label` ("epoch 3/13") begins the line. `total`: all steps of the work.
  Progress(std::string label, int64_t total, ProgressOptions options = {});
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Reports that `done` steps are done. Cheap if nothing is due: one look at the clock. Allocates nothing. `values`
  // come in order of importance: a narrow terminal drops the last ones.
  void update(int64_t done, std::initializer_list<ProgressValue> values = {});
  // True if update() would draw now. Ask it before computing costly figures.
  bool due(int64_t done) const;
  // Removes the line from the terminal, so that something else can be printed. The next update() draws it again.
  void clear();

 private:
  double now() const { return options_.clock ? options_.clock() : clock_seconds(); }

  std::string label_;
  int64_t total_;
  ProgressOptions options_;
  double start_, last_drawn_;
  int64_t last_done_;
  bool visible_ = false;
};

// "0:07", "1:02", "2:13:05", "3 d 4 h". Below 0 or not finite: "?".
std::string format_duration(double seconds);
// Three significant digits: "7.31", "842", "11.7k", "4.65M", "1.20G".
std::string format_number(double value);
std::string format_bytes(int64_t bytes);  // "4.65MB"
// A loss, an error or a perplexity. Below 10 it has `digits` decimal places, up to 1000 two fewer. If that would show
// fewer than `digits` digits of the number, it has `digits` significant ones: "4.1234", "87.31", "1234.5",
// "2.0000e+09", "0.05123", "3.142e-07". Only 0 itself is "0".
std::string format_score(double score, int digits = 4);
// Columns of the stream's terminal; `otherwise` if it is none.
int terminal_columns(std::FILE* stream, int otherwise);

}  // namespace unroll
