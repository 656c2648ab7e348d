#include "framework/signals.h"

#include <atomic>
#include <cstdint>

#include <signal.h>
#include <time.h>
#include <unistd.h>

namespace unroll {

namespace {

std::atomic<int> received{0};
std::atomic<int64_t> received_at{0};  // nanoseconds
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free,
              "the handler may be called at any moment");
bool guarded = false;
struct sigaction interrupt_before, terminate_before, hang_up_before, pipe_before;

int64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void remember(int signal) {
  constexpr int64_t one_key_press = 100'000'000;
  int none = 0;
  if (received.compare_exchange_strong(none, signal))
    received_at = now();
  else if (signal == SIGINT && now() - received_at > one_key_press)
    _exit(128 + SIGINT);
}

}  // namespace

SignalGuard::SignalGuard() {
  require(!guarded, "signals: another SignalGuard is alive");
  guarded = true;
  received = 0;
  struct sigaction action {};
  action.sa_handler = remember;
  action.sa_flags = SA_RESTART;  // a file that is being written does not notice
  sigaction(SIGINT, &action, &interrupt_before);
  sigaction(SIGTERM, &action, &terminate_before);
  sigaction(SIGHUP, nullptr, &hang_up_before);
  if (hang_up_before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &pipe_before);
}

SignalGuard::~SignalGuard() {
  sigaction(SIGINT, &interrupt_before, nullptr);
  sigaction(SIGTERM, &terminate_before, nullptr);
  sigaction(SIGHUP, &hang_up_before, nullptr);
  sigaction(SIGPIPE, &pipe_before, nullptr);
  guarded = false;
  received = 0;
}

int signal_received() { return received; }

Interrupted::Interrupted(int number, const std::string& before)
    : Error(before + (number == SIGINT   ? "interrupted"
                      : number == SIGHUP ? "ended: the terminal hung up"
                                         : fmt::format("ended by signal {}", number))),
      signal(number) {}

void stop_if_signalled() {
  if (const int signal = signal_received()) throw Interrupted(signal);
}

}  // namespace unroll
