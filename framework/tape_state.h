// What a thread knows of its tape, to be exchanged for another's: so computations that take turns on a thread have a tape each
// (side_by_side.h).
#pragma once

#include <memory>

namespace unroll {

class TapeState {
 public:
  TapeState();  // of no tape
  ~TapeState();
  TapeState(const TapeState&) = delete;
  TapeState& operator=(const TapeState&) = delete;
  void exchange();  // with the thread's

 private:
  struct Held;
  std::unique_ptr<Held> held_;
};

}  // namespace unroll
