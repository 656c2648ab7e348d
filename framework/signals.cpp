#include "framework/signals.h"

#include <atomic>
#include <cstdint>
#include <iterator>

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
constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
struct sigaction before[std::size(signals)];

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
  for (size_t i = 0; i < std::size(signals); ++i) {
    struct sigaction action {};
    action.sa_handler = signals[i] == SIGPIPE ? SIG_IGN : remember;
    action.sa_flags = SA_RESTART;  // a file that is being written does not notice
    sigaction(signals[i], nullptr, &before[i]);
    if (signals[i] != SIGHUP || before[i].sa_handler != SIG_IGN) sigaction(signals[i], &action, nullptr);
  }
}

SignalGuard::~SignalGuard() {
  for (size_t i = 0; i < std::size(signals); ++i) sigaction(signals[i], &before[i], nullptr);
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
