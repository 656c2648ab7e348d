// The line that shows how far a long piece of work is.
//
//   epoch 3/13  1162/2323 [==========>.........] ETA 1:02  loss 4.812  perplexity 123.0  11.7k words/s
//
// On a terminal it is redrawn in place, at most ten times a second, and fitted to the width; elsewhere a
// plain line appears now and then.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

namespace unroll {

struct ProgressOptions {
  enum class Mode : uint8_t { automatic, terminal, plain, silent };
  std::FILE* stream = stdout;
  Mode mode = Mode::automatic;         // automatic: asks the stream
  double redraw_seconds = 0.1;         // on a terminal: no more often
  double plain_fraction = 0.1;         // elsewhere: a line for each tenth of the work …
  double plain_seconds = 5;            // … but no more often,
  double plain_at_least = 60;          // and one after so long in any case
  int width = 0;                       // columns; 0: asks the terminal
  int64_t done_before = 0;             // of the steps, before this object began: for a run that goes on
  std::function<double()> clock = {};  // seconds; for tests
};

// A figure to show: "loss 4.812", or, as a rate, "11.7k words/s". The name must live during the call.
struct ProgressValue {
  std::string_view name;
  double value = 0;
  bool rate = false;
};

class Progress {
 public:
  // `label` ("epoch 3/13") begins the line; `total` is the number of steps to come.
  Progress(std::string label, int64_t total, ProgressOptions options = {});
  ~Progress();  // as clear()
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `done` steps of the total are done. Cheap when nothing is due: one look at the clock. Asks for no memory.
  // `values` in order of importance: in a narrow terminal the last ones are left out.
  void update(int64_t done, std::initializer_list<ProgressValue> values = {});
  // True if update() would draw now: for figures that cost something to find out.
  bool due(int64_t done) const;
  // Takes the line off the terminal, so that something else can be printed; the next update() draws it again.
  void clear();

 private:
  double now() const;
  int columns() const;

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
// A loss, an error or a perplexity, whatever its unit: so many digits behind the point below 10, two fewer up to 1000, and
// where these would show less than `digits` of the number, so many of its own: "4.1234", "87.31", "1234.5", "2.0000e+09",
// "0.05123", "3.142e-07"; "0" for 0 alone.
std::string format_score(double score, int digits = 4);
// Columns of the terminal that a stream is; `otherwise` where it is none.
int terminal_columns(std::FILE* stream, int otherwise);

}  // namespace unroll
