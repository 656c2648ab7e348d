#include "training/steps/courier.h"

#include <csignal>
#include <utility>

#include <pthread.h>

namespace unroll {

Courier::~Courier() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Courier::begin() {
  const std::lock_guard lock(mutex_);
  pushed_ = done_ = 0;
  failure_ = {};
}

void Courier::push() {
  {
    const std::lock_guard lock(mutex_);
    ++pushed_;
    if (!thread_.joinable()) {  // signals are for the thread that computes
      sigset_t all, before;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &before);
      thread_ = std::thread([this] { run(); });
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
  }
  changed_.notify_all();
}

void Courier::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failure_ || done_ == pushed_; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, {}));
}

void Courier::drop(const std::function<void()>& end_it) {
  std::unique_lock lock(mutex_);
  pushed_ = done_ + (works_ ? 1 : 0);
  if (works_) end_it();
  changed_.wait(lock, [&] { return !works_; });
  pushed_ = done_;
  failure_ = {};
}

void Courier::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ended_ || (!failure_ && done_ < pushed_); });
    if (ended_) return;
    const std::size_t piece = done_;
    works_ = true;
    lock.unlock();
    std::exception_ptr failure;
    try {
      work_(piece);
    } catch (...) { failure = std::current_exception(); }
    lock.lock();
    works_ = false;
    failure_ = failure;
    if (!failure) ++done_;
    changed_.notify_all();
  }
}

}  // namespace unroll
