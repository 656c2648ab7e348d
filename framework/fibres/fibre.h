// A fibre: work on a stack of its own within a thread, which goes on in turns. One runs at a time, until it gives way.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace unroll {

class Fibre {
 public:
  // Takes memory for a stack, of which only the part in use counts; throws OutOfMemory where there is none.
  Fibre();
  ~Fibre();  // not while it has work
  Fibre(const Fibre&) = delete;
  Fibre& operator=(const Fibre&) = delete;

  // What it does when something goes on with it for the first time. Must not throw.
  void begin(std::function<void()> work);
  bool has_work() const;  // that is not at its end
  // From the thread's own stack, always of the same thread: returns when the work gives way or is at its end.
  void go_on();
  // From the work of one.
  static void give_way();

 private:
  struct Machine;
  std::unique_ptr<Machine> machine_;
};

}  // namespace unroll
