// A thread that does one piece of work after the other while another thread goes on.
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
  // work(k): the k-th piece since begin().
  explicit Courier(std::function<void(std::size_t)> work) : work_(std::move(work)) {}
  ~Courier();  // waits for the piece that it is at
  Courier(const Courier&) = delete;
  Courier& operator=(const Courier&) = delete;

  void begin();  // from 0 again. Nothing may be left of before
  void push();   // the next piece can be done
  // Returns when all pieces that were pushed are done, or throws what one of them has thrown.
  void wait();
  // The pieces that are not begun are left out. If one has begun, end_it() is to see that it ends; what it throws is forgotten.
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
