// Seconds on a clock that only goes forward: for durations.
#pragma once

#include <chrono>

namespace unroll {

inline double clock_seconds() {  // monotonic; only differences count
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace unroll
