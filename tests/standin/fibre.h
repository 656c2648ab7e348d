// A fibre: a stack of its own within a thread of the host. One runs at a time, until it switches to another. The
// sanitizers are told: to the address sanitizer it is another stack, to ThreadSanitizer another thread, and a switch
// orders nothing.
//
// Files that include this are compiled without sanitizers: their notes about a kernel's threads are none of the
// kernel's memory.
#pragma once

#include <cstddef>

#include "tests/standin/stack_switch.h"

namespace standin {

// Whether the program was built with a sanitizer, and with the one for threads.
extern const bool stacks_are_watched, races_are_watched;

class Fibre {
 public:
  // Begins in `entry`, which must not return, when something switches to it first.
  explicit Fibre(void (*entry)());
  // Stands for the caller, on the stack that it has. One at a time.
  Fibre();
  Fibre(const Fibre&) = delete;
  Fibre& operator=(const Fibre&) = delete;

  static Fibre& running() { return *current_; }
  // From the fibre that runs to this one. Returns when something switches back.
  void go_on() {
    Fibre* const from = current_;
    if (from == this) return;
    current_ = this;
    if (stacks_are_watched) leave(*from);
    unroll::switch_stack(&from->machine_, machine_);
    if (stacks_are_watched) from->arrive();
  }

 private:
  static void begin();
  void leave(Fibre& from);
  void arrive();  // the first that runs on a stack after a switch to it

  static inline Fibre* current_ = nullptr;
  void* machine_ = nullptr;  // where its registers are kept while it waits
  void (*entry_)() = nullptr;
  const void* bottom_ = nullptr;  // of the stack
  std::size_t bytes_ = 0;
  void* fake_stack_ = nullptr;  // the address sanitizer's
  void* thread_ = nullptr;      // ThreadSanitizer's
};

// Order threads if races are watched: all before order_before(place) happens before what comes after a later
// order_after(place).
void order_before(void* place);
void order_after(void* place);

}  // namespace standin
