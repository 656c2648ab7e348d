// A thread that works on one piece after the other while another thread goes on.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace unroll {

class Courier {
 public:
  // Calls work(k) for piece k, counted from begin().
  explicit Courier(std::function<void(std::size_t)> work) : work_(std::move(work)) {}
  ~Courier();  // waits for the piece in progress
  Courier(const Courier&) = delete;
  Courier& operator=(const Courier&) = delete;

  void begin();  // counts from 0 again. Requires: no piece is left
  void push();   // the next piece is ready to be worked on
  // Waits for all pushed pieces. Throws what a piece has thrown.
  void wait();
  // Drops the pieces that have not begun. If one is in progress, end_it() must make it end; what that piece throws is
  // ignored.
  void drop(const std::function<void()>& end_it);

 private:
  void run();
  const std::function<void(std::size_t)> work_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t pushed_ = 0, done_ = 0;
  bool ended_ = false, works_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace unroll
