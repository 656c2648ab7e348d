#include "training/report/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <limits>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "framework/processes/processes.h"

namespace unroll {
namespace {

// A line of text in memory of its own: drawing does not allocate.
using Line = fmt::basic_memory_buffer<char, 512>;

template <class... Args>
void add(Line& line, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(line), format, std::forward<Args>(args)...);
}
std::string_view text_of(const Line& line) { return {line.data(), line.size()}; }

void print(std::string_view text, std::FILE* stream) {
  std::fwrite(text.data(), 1, text.size(), stream);
  std::fflush(stream);
}

void add_duration(Line& line, double seconds) {
  if (!(seconds >= 0) || seconds > 1e10) return add(line, "?");
  const int64_t s = std::llround(seconds), minutes = s / 60, hours = s / 3600;
  if (hours >= 48) return add(line, "{} d {} h", hours / 24, hours % 24);
  if (hours > 0) return add(line, "{}:{:02}:{:02}", hours, minutes % 60, s % 60);
  add(line, "{}:{:02}", minutes, s % 60);
}

// Three significant digits, without an exponent if that is readable.
void add_digits(Line& line, double value) {
  const double size = std::abs(value);
  if (size != 0 && size < 1e-3) return add(line, "{:.2e}", value);
  if (size != 0 && size < 0.1) return add(line, "{:#.3g}", value);
  if (size < 1) return add(line, "{:.4f}", value);
  if (size < 9.995) return add(line, "{:.2f}", value);
  if (size < 99.95) return add(line, "{:.1f}", value);
  add(line, "{:.0f}", value);
}
void add_number(Line& line, double value) {
  const double size = std::abs(value);
  if (!std::isfinite(value)) return add(line, "{}", value);
  if (size < 999.5) return size < 1 ? add(line, "{:.3g}", value) : add_digits(line, value);
  if (size >= 999.5e12) return add(line, "{:.2e}", value);
  static constexpr std::string_view units = "kMGT";
  double scaled = value / 1e3;
  std::size_t unit = 0;
  while (std::abs(scaled) >= 999.5 && unit + 1 < units.size()) scaled /= 1e3, ++unit;
  add_digits(line, std::abs(scaled) < 1 ? std::copysign(1, scaled) : scaled);  // 999.7 is 1.00k, not 0.9997k
  add(line, "{}", units[unit]);
}

void add_value(Line& line, const ProgressValue& value) {
  if (value.rate) {
    add(line, "  ");
    add_number(line, value.value);
    add(line, " {}", value.name);
  } else if (std::abs(value.value) >= 1 && std::abs(value.value) < 10) {
    add(line, "  {} {:.3f}", value.name, value.value);
  } else if (std::abs(value.value) < 99999.5) {
    add(line, "  {} ", value.name);
    std::abs(value.value) >= 99.95 ? add(line, "{:.1f}", value.value) : add_digits(line, value.value);
  } else {
    add(line, "  {} {:.3g}", value.name, value.value);
  }
}

constexpr double never = std::numeric_limits<double>::infinity();

// mpirun gives its processes a terminal, wherever their output goes.
bool is_of_terminal(pid_t process) {
  std::error_code error;
  const std::string to = std::filesystem::read_symlink(fmt::format("/proc/{}/fd/1", process), error).string();
  return !error && (to.starts_with("/dev/pts/") || to.starts_with("/dev/tty"));
}

bool is_terminal(std::FILE* stream) {
  if (process_count() > 1 && !is_of_terminal(getppid())) return false;
  const char* kind = std::getenv("TERM");
  return isatty(fileno(stream)) && kind && std::string_view(kind) != "dumb" && *kind;
}

}  // namespace

std::string format_duration(double seconds) {
  Line line;
  add_duration(line, seconds);
  return fmt::to_string(line);
}
std::string format_number(double value) {
  Line line;
  add_number(line, value);
  return fmt::to_string(line);
}
std::string format_bytes(int64_t bytes) { return format_number(static_cast<double>(bytes)) + "B"; }
std::string format_score(double score, int digits) {
  const double size = std::abs(score);
  return size == 0     ? "0"
         : size < 0.1  ? fmt::format("{:#.{}g}", score, digits)
         : size < 10   ? fmt::format("{:.{}f}", score, digits)
         : size < 1000 ? fmt::format("{:.{}f}", score, digits - 2)
         : size < 1e5  ? fmt::format("{:.{}g}", score, digits + 1)
                       : fmt::format("{:#.{}g}", score, digits + 1);
}

int terminal_columns(std::FILE* stream, int otherwise) {
  winsize size{};
  return ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : otherwise;
}

Progress::Progress(std::string label, int64_t total, ProgressOptions options)
    : label_(std::move(label)),
      total_(std::max<int64_t>(total, 1)),
      options_(std::move(options)),
      last_done_(options_.done_before) {
  using Mode = ProgressOptions::Mode;
  if (options_.mode == Mode::automatic)
    options_.mode = is_terminal(options_.stream) ? Mode::terminal : Mode::plain;
  start_ = now();
  // On a terminal, draw the line at once; in a log, only when it says something.
  last_drawn_ = options_.mode == Mode::terminal ? -never : start_;
}

bool Progress::due(int64_t done) const {
  const double waited = now() - last_drawn_;
  switch (options_.mode) {
    case ProgressOptions::Mode::terminal:
      return waited >= 0.1;
    case ProgressOptions::Mode::plain: {
      const double fraction = static_cast<double>(done - last_done_) / static_cast<double>(total_);
      return done < total_ && (waited >= 60 || (fraction >= 0.1 && waited >= options_.plain_seconds));
    }
    default:
      return false;
  }
}

void Progress::update(int64_t done, std::initializer_list<ProgressValue> values) {
  if (!due(done)) return;
  done = std::clamp<int64_t>(done, 0, total_);
  const double elapsed = now() - start_;
  last_drawn_ = start_ + elapsed;
  last_done_ = done;

  const bool terminal = options_.mode == ProgressOptions::Mode::terminal;
  Line head, tail;
  add(head, "{}{}{}/{}", label_, label_.empty() ? "" : "  ", done, total_);
  add(tail, " ETA ");
  const int64_t done_here = done - options_.done_before;
  add_duration(tail, done_here > 0
                         ? elapsed * static_cast<double>(total_ - done) / static_cast<double>(done_here)
                         : -1);
  const int columns = options_.width > 0 ? options_.width : terminal_columns(options_.stream, 80);
  // The last column stays free: some terminals wrap when it is written.
  const std::size_t room =
      terminal ? static_cast<std::size_t>(std::clamp(columns - 1, 1, 400)) : std::size_t{400};
  for (const ProgressValue& value : values) {
    const std::size_t before = tail.size();
    add_value(tail, value);
    if (head.size() + tail.size() > room) {
      tail.resize(before);
      break;
    }
  }

  Line line;
  if (!terminal) {
    add(line, "{} {:2} %{}\n", text_of(head), 100 * done / total_, text_of(tail));
    return print(text_of(line), options_.stream);
  }
  add(line, "\r{}", text_of(head));
  const int free = static_cast<int>(room) - static_cast<int>(head.size() + tail.size()) - 3;  // " [" and "]"
  if (const int bar = std::min(free, 24); bar >= 5) {
    const int full = static_cast<int>(bar * done / total_);
    if (done < total_)
      add(line, " [{:=>{}}>{:.>{}}]", "", full, "", bar - full - 1);
    else
      add(line, " [{:=>{}}]", "", bar);
  }
  add(line, "{}", text_of(tail));
  line.resize(std::min(line.size(), 1 + room));
  add(line, "\x1b[K");  // erases the rest of a longer line
  print(text_of(line), options_.stream);
  visible_ = true;
}

void Progress::clear() {
  if (!visible_) return;
  print("\r\x1b[K", options_.stream);
  visible_ = false;
  last_drawn_ = -never;
}

}  // namespace unroll
