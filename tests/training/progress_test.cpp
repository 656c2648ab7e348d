// The progress line: its text at every width, how often it is drawn, what a log gets, numbers for people.
#include "training/report/progress.h"

#include <atomic>
#include <cmath>
#include <new>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tests/environment.h"
#include "tests/support.h"

namespace {
std::atomic<int64_t> allocations{0};
}

// Counted, to see that drawing asks for no memory.
void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size ? size : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

using namespace unroll;
using Mode = ProgressOptions::Mode;

namespace {

// A stream that remembers, and a clock that is set by hand.
struct Screen {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* stream = open_memstream(&text, &size);
  double seconds = 1000;
  ~Screen() {
    std::fclose(stream);
    std::free(text);
  }
  ProgressOptions options(Mode mode, int width = 100) {
    ProgressOptions result{.stream = stream, .mode = mode, .width = width};
    result.clock = [this] { return seconds; };
    return result;
  }
  // The text that was written since the last call.
  std::string take() {
    std::fflush(stream);
    std::string result(text + taken_, size - taken_);
    taken_ = size;
    return result;
  }

 private:
  std::size_t taken_ = 0;
};

// The text of one drawing, without the signs that move the cursor.
std::string line_of(const std::string& drawn) {
  REQUIRE(drawn.starts_with("\r"));
  REQUIRE(drawn.ends_with("\x1b[K"));
  return drawn.substr(1, drawn.size() - 4);
}

constexpr double loss = 4.8122, perplexity = 123.04, rate = 11730;

}  // namespace

TEST_CASE("progress: the line on a terminal") {
  Screen screen;
  Progress progress("epoch 3/13", 2000, screen.options(Mode::terminal, 110));
  screen.seconds += 62;
  progress.update(1000, {{"loss", loss}, {"perplexity", perplexity}, {"words/s", rate, true}});
  CHECK(line_of(screen.take()) ==
        "epoch 3/13  1000/2000 [============>...........] ETA 1:02  loss 4.812  perplexity 123.0  11.7k "
        "words/s");
  screen.seconds += 62;
  progress.update(2000, {{"loss", loss}});
  CHECK(line_of(screen.take()) == "epoch 3/13  2000/2000 [========================] ETA 0:00  loss 4.812");
  progress.clear();
  CHECK(screen.take() == "\r\x1b[K");
  progress.clear();
  CHECK(screen.take() == "");
}

TEST_CASE("progress: the line fits every width, and its most important parts stay longest") {
  for (int width = 1; width <= 130; ++width) {
    CAPTURE(width);
    Screen screen;
    Progress progress("epoch 3/13", 2000, screen.options(Mode::terminal, width));
    screen.seconds += 62;
    progress.update(1000, {{"loss", loss}, {"perplexity", perplexity}, {"words/s", rate, true}});
    const std::string line = line_of(screen.take());
    CHECK(line.size() < static_cast<std::size_t>(std::max(width, 2)));
    CHECK((width < 22 || line.starts_with("epoch 3/13  1000/2000")));
    CHECK((width < 32 || line.find("ETA 1:02") != std::string::npos));
    CHECK((width < 44 || line.find("loss 4.812") != std::string::npos));
    CHECK((width < 80 || line.find("11.7k words/s") != std::string::npos));
    CHECK((width < 88 || line.find("[==") != std::string::npos));
  }
}

TEST_CASE("progress: at most ten drawings a second on a terminal") {
  Screen screen;
  Progress progress("", 100000, screen.options(Mode::terminal));
  int drawn = 0;
  for (int step = 1; step <= 10000; ++step) {  // ten seconds
    screen.seconds += 0.001;
    const bool due = progress.due(step);
    progress.update(step);
    const bool seen = !screen.take().empty();
    CHECK(due == seen);
    drawn += seen;
  }
  CHECK(drawn >= 90);
  CHECK(drawn <= 101);
}

TEST_CASE("progress: the first line comes at once, and again after the line was taken away") {
  Screen screen;
  Progress progress("x", 10, screen.options(Mode::terminal));
  progress.update(1);
  CHECK(line_of(screen.take()).starts_with("x  1/10 "));
  progress.update(2);
  CHECK(screen.take() == "");
  progress.clear();
  screen.take();
  progress.update(3);
  CHECK(line_of(screen.take()).starts_with("x  3/10 "));
}

TEST_CASE("progress: the line is gone with its object") {
  Screen screen;
  { Progress("x", 10, screen.options(Mode::terminal)).update(1); }
  CHECK(screen.take().ends_with("\r\x1b[K"));
  { Progress("x", 10, screen.options(Mode::terminal)); }
  CHECK(screen.take() == "");
}

TEST_CASE("progress: a log gets whole lines, one for each tenth") {
  Screen screen;
  {
    Progress progress("epoch 1/2", 1000, screen.options(Mode::plain));
    std::string all;
    for (int step = 1; step <= 1000; ++step) {
      screen.seconds += 0.1;
      progress.update(step, {{"loss", loss}, {"words/s", rate, true}});
      all += screen.take();
    }
    CHECK(all.starts_with("epoch 1/2  100/1000 10 % ETA 1:30  loss 4.812  11.7k words/s\n"));
    CHECK(std::count(all.begin(), all.end(), '\n') == 9);  // the end is the caller's to tell
    CHECK(all.find_first_of("\r\x1b") == std::string::npos);
  }
  CHECK(screen.take() == "");
}

TEST_CASE("progress: a log is not flooded by short work, and long work is heard of once a minute") {
  Screen screen;
  Progress quick("", 1000, screen.options(Mode::plain));
  for (int step = 1; step <= 1000; ++step) {  // four seconds
    screen.seconds += 0.004;
    quick.update(step);
  }
  CHECK(screen.take() == "");
  Progress slow("", 1000, screen.options(Mode::plain));
  for (int step = 1; step <= 60; ++step) {  // ten minutes
    screen.seconds += 10;
    slow.update(step);
  }
  const std::string all = screen.take();
  CHECK(all.starts_with("6/1000  0 % ETA "));
  CHECK(std::count(all.begin(), all.end(), '\n') == 10);
}

TEST_CASE("progress: silent") {
  Screen screen;
  Progress progress("", 10, screen.options(Mode::silent));
  screen.seconds += 100;
  CHECK_FALSE(progress.due(5));
  progress.update(5);
  CHECK(screen.take() == "");
}

TEST_CASE("progress: what was done before is not counted as fast work") {
  Screen screen;
  ProgressOptions options = screen.options(Mode::terminal);
  options.done_before = 500;
  Progress progress("", 1000, options);
  screen.seconds += 10;
  progress.update(500);
  CHECK(line_of(screen.take()).find("ETA ?") != std::string::npos);
  screen.seconds += 10;
  progress.update(600);
  CHECK(line_of(screen.take()).find("ETA 1:20") != std::string::npos);  // 400 steps of 0.2 s
}

TEST_CASE("progress: odd numbers do no harm") {
  Screen screen;
  Progress progress("", 0, screen.options(Mode::terminal));
  for (const double value : {0.0, -0.0, 1e-9, -1.5, 1e5, 1e300, std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    for (const int64_t done : {int64_t{-5}, int64_t{0}, int64_t{1}, INT64_MAX}) {
      screen.seconds += 1;
      progress.update(done, {{"loss", value}, {"words/s", value, true}});
      CHECK(line_of(screen.take()).size() < 100);
    }
  }
  Progress named(std::string(2000, 'x'), 10, screen.options(Mode::terminal));
  named.update(1, {{"loss", 1.0}});
  CHECK(line_of(screen.take()) == std::string(99, 'x'));
}

TEST_CASE("progress: drawing asks for no memory") {
  std::FILE* nowhere = std::fopen("/dev/null", "w");
  REQUIRE(nowhere);
  for (const Mode mode : {Mode::terminal, Mode::plain}) {
    double seconds = 0;
    ProgressOptions options{.stream = nowhere, .mode = mode};
    options.clock = [&seconds] { return seconds; };
    Progress progress("epoch 1/2", 1000, options);
    int64_t before = 0;
    for (int step = 1; step <= 1000; ++step) {
      if (step == 500) before = allocations;
      seconds += 100;
      progress.update(
          step, {{"loss", loss * step}, {"perplexity", perplexity * step}, {"words/s", rate * step, true}});
    }
    CHECK(allocations == before);
  }
  std::fclose(nowhere);
}

TEST_CASE("progress: a stream is asked whether it is a terminal, and for its width") {
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) {
    std::puts("[skipped] progress: no pseudo-terminal to be had");
    return;
  }
  const int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
  REQUIRE(slave >= 0);
  const auto drawn = [&](int columns, const char* name) {
    const EnvironmentVariable term("TERM", name);
    winsize size{};
    size.ws_col = static_cast<unsigned short>(columns);
    REQUIRE(ioctl(slave, TIOCSWINSZ, &size) == 0);
    std::FILE* stream = fdopen(dup(slave), "w");
    Progress progress("epoch 1/2", 1000, {.stream = stream, .plain_seconds = 0});
    progress.update(500, {{"loss", loss}});
    std::string text(1000, '\0');
    std::fflush(stream);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(read(master, text.data(), text.size()), 0)));
    progress.clear();
    std::fclose(stream);
    if (text.starts_with("\r")) {
      char rest[100];
      CHECK(read(master, rest, sizeof rest) == 4);
    }
    return text;
  };
  CHECK(line_of(drawn(30, "xterm")).size() <= 29);
  CHECK(line_of(drawn(70, "xterm")).find("[====") != std::string::npos);
  CHECK(drawn(70, "dumb").starts_with("epoch 1/2  500/1000 50 % ETA 0:00  loss 4.812"));
  close(slave);
  close(master);
}

TEST_CASE("progress: numbers for people") {
  CHECK(format_duration(0) == "0:00");
  CHECK(format_duration(6.6) == "0:07");
  CHECK(format_duration(62) == "1:02");
  CHECK(format_duration(59.9) == "1:00");
  CHECK(format_duration(3599) == "59:59");
  CHECK(format_duration(7985) == "2:13:05");
  CHECK(format_duration(200000) == "2 d 7 h");
  CHECK(format_duration(-1) == "?");
  CHECK(format_duration(std::nan("")) == "?");
  CHECK(format_duration(HUGE_VAL) == "?");
  CHECK(format_duration(1e300) == "?");

  CHECK(format_number(0) == "0");
  CHECK(format_number(0.125) == "0.125");
  CHECK(format_number(7.309) == "7.31");
  CHECK(format_number(9.996) == "10.0");
  CHECK(format_number(842) == "842");
  CHECK(format_number(999.6) == "1.00k");
  CHECK(format_number(11730) == "11.7k");
  CHECK(format_number(4652400) == "4.65M");
  CHECK(format_number(66022000) == "66.0M");
  CHECK(format_number(999.7e6) == "1.00G");
  CHECK(format_number(-11730) == "-11.7k");
  CHECK(format_number(1e20) == "1.00e+20");
  CHECK(format_number(HUGE_VAL) == "inf");
  CHECK(format_bytes(999) == "999B");
  CHECK(format_bytes(3'000'000'000) == "3.00GB");
}

TEST_CASE("scores keep their digits in every unit") {
  // Four digits behind the point where a score is about 1; four of its own where these would be zeros; five in all above 1000.
  CHECK(format_score(4.12344) == "4.1234");
  CHECK(format_score(0.5) == "0.5000");
  CHECK(format_score(87.314) == "87.31");
  CHECK(format_score(1234.56) == "1234.6");
  CHECK(format_score(0.0512) == "0.05120");
  CHECK(format_score(0.00031416) == "0.0003142");
  CHECK(format_score(3.14159e-7) == "3.142e-07");
  CHECK(format_score(2e8) == "2.0000e+08");
  CHECK(format_score(0) == "0");
  CHECK(format_score(0.123456, 5) == "0.12346");
  CHECK(format_score(std::nan("")) == "nan");
}
