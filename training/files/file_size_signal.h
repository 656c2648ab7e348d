// Makes a write beyond the limit of `ulimit -f` an error, like a full disk, instead of the end of the process.
#pragma once

#include <csignal>
#include <ctime>

namespace unroll {

// Beyond that limit write() raises SIGXFSZ, which ends the process, before it fails with EFBIG. While one of these
// lives, the signal is blocked, and then discarded.
class HoldFileSizeSignal {
 public:
  HoldFileSizeSignal() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~HoldFileSizeSignal() {
    const timespec at_once{};
    if (!was_pending_) sigtimedwait(&signal_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  HoldFileSizeSignal(const HoldFileSizeSignal&) = delete;
  HoldFileSizeSignal& operator=(const HoldFileSizeSignal&) = delete;

 private:
  sigset_t signal_, before_;
  bool was_pending_ = false;
};

}  // namespace unroll
