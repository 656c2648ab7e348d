#include "examples/lessons/lesson.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "framework/check.h"
#include "framework/threads.h"

namespace lessons {
namespace {

bool said_right = false;

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? value : nullptr;
}

}  // namespace

void say_right(const std::string& text) {
  fmt::print("\nright: {}\n", text);
  said_right = true;
}

void draw(const unroll::Chart& chart) {
  const char* path = variable("UNROLL_LESSON_PICTURE");
  if (!path) return;
  std::ofstream file(path);
  file << unroll::chart_file(chart);
  unroll::require_input(file.flush().good(), "{}: the picture cannot be written", path);
}

std::string trained_demo() {
  const char* path = variable("UNROLL_LESSON_DEMO");
  if (!path || !std::filesystem::exists(path)) throw NeedsDemo{};
  return path;
}

}  // namespace lessons

int main() try {
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 12);
  unroll::set_threads(1);  // the lessons are small: threads would wait for each other most of the time
  lesson();
  if (lessons::said_right) return 0;
  fmt::print(
      "\nwrong: the program ended before its check said anything. Is the call of the check still there?\n");
  return 1;
} catch (const lessons::Wrong& found) {
  fmt::print("\nwrong: {}\n", found.text);
  return 1;
} catch (const lessons::NeedsDemo&) {
  fmt::print("\nThe next part looks into the trained demo: ./run lesson trains it.\n");
  return 10;  // examples/lessons/lesson.py knows
} catch (const unroll::Error& error) {
  fmt::print("\nwrong: the library stopped the program: {}\n", error.what());
  return 1;
}
