#include "framework/threads.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include "framework/check.h"

namespace unroll {

namespace {

int cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0)  // the machine has more than the set can hold
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return CPU_COUNT(&set);
}

std::atomic<int>& thread_count() {
  static std::atomic<int> count = std::min(cores(), most_threads);
  return count;
}

// Whether this thread is at a piece of a task, which the threads share already.
thread_local bool at_piece = false;
struct AtPiece {
  const bool before = std::exchange(at_piece, true);
  ~AtPiece() { at_piece = before; }
};

void pause_a_little() {
#ifdef __x86_64__
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Why a thread could not be made the system does not say. One needs a stack.
bool has_memory_for_thread() {
  pthread_attr_t attributes;
  std::size_t bytes = std::size_t{8} << 20;
  if (pthread_attr_init(&attributes) == 0) {
    pthread_attr_getstacksize(&attributes, &bytes);
    pthread_attr_destroy(&attributes);
  }
  void* const stack =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return false;
  munmap(stack, bytes);
  return true;
}

// Returns when value is no longer `old`, or after a time that is short beside what it costs to sleep and be woken.
template <class T>
void spin_while(const std::atomic<T>& value, T old) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::microseconds(50);
  while (value.load(std::memory_order_acquire) == old && Clock::now() < end) pause_a_little();
}

class ThreadPool {
 public:
  static ThreadPool& instance() {
    static ThreadPool* pool = new ThreadPool;  // never destroyed: its threads run until the process ends
    return *pool;
  }

  // False if another call has the pool.
  bool run(int pieces, void (*task)(const void*, int), const void* context) {
    if (taken_.test_and_set(std::memory_order_acquire)) return false;
    const int count = threads();
    try {
      for (; helpers_ < count - 1; ++helpers_)
        std::thread([this, number = helpers_ + 1] { help(number); }).detach();
    } catch (const std::system_error& error) {
      taken_.clear(std::memory_order_release);
      const std::string text =
          fmt::format("threads: {} wanted, and after {} the system gives no more", count, helpers_ + 1);
      if (!has_memory_for_thread())
        throw OutOfMemory(text + ": there is no memory for another one; --threads 1 needs none");
      throw Error(fmt::format("{}: {}", text, error.what()));
    }
    task_ = task, context_ = context;
    active_.store(count, std::memory_order_relaxed);
    pieces_.store(pieces, std::memory_order_relaxed);
    unfinished_.store(pieces, std::memory_order_relaxed);
    const uint32_t job = started_.load(std::memory_order_relaxed) + 1;
    open_.store(uint64_t{job} << 32 | (uint32_t{0xffffffff} >> (32 - pieces)), std::memory_order_release);
    started_.store(job, std::memory_order_release);
    started_.notify_all();
    work(0);
    while (const int left = unfinished_.load(std::memory_order_acquire)) {
      spin_while(unfinished_, left);
      unfinished_.wait(left, std::memory_order_acquire);
    }
    const std::exception_ptr failure = std::exchange(failure_, nullptr);
    failed_.clear(std::memory_order_relaxed);
    taken_.clear(std::memory_order_release);
    if (failure) std::rethrow_exception(failure);
    return true;
  }

 private:
  void help(int number) {
    for (uint32_t seen = 0;;) {
      spin_while(started_, seen);
      started_.wait(seen, std::memory_order_acquire);
      seen = started_.load(std::memory_order_acquire);
      if (number < active_.load(std::memory_order_relaxed)) work(number);
    }
  }

  // Takes pieces until none is left, from this thread's own part of them on.
  void work(int number) {
    uint64_t open = open_.load(std::memory_order_acquire);
    while (const uint32_t mask = static_cast<uint32_t>(open)) {
      const int own =
          number * pieces_.load(std::memory_order_relaxed) / active_.load(std::memory_order_relaxed);
      const int piece = (std::countr_zero(std::rotr(mask, own)) + own) % 32;
      if (!open_.compare_exchange_weak(open, open & ~(uint64_t{1} << piece), std::memory_order_acq_rel))
        continue;
      // From here on the job cannot end before this piece does.
      try {
        const AtPiece mark;
        task_(context_, piece);
      } catch (...) {  // the other pieces go on: they read what the caller keeps until run() returns
        if (!failed_.test_and_set(std::memory_order_relaxed)) failure_ = std::current_exception();
      }
      if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished_.notify_one();
      open = open_.load(std::memory_order_acquire);
    }
  }

  std::atomic_flag taken_;
  int helpers_ = 0;
  std::atomic<uint32_t> started_ = 0;  // number of the last job
  alignas(64) std::atomic<uint64_t> open_ =
      0;  // the job's number, and a bit for each piece that nobody has taken
  std::atomic<int> pieces_ = 0, active_ = 1;
  void (*task_)(const void*, int) = nullptr;
  const void* context_ = nullptr;
  std::atomic_flag failed_;  // a piece of the job threw this, the first that did:
  std::exception_ptr failure_;
  alignas(64) std::atomic<int> unfinished_ = 0;
};

}  // namespace

void set_threads(int count) {
  require_input(count >= 1, "threads: {} given, at least 1 is needed", count);
  require_input(count <= most_threads, "threads: {} given, at most {} can share the work", count,
                most_threads);
  thread_count() = count;
}
int threads() { return at_piece ? 1 : thread_count().load(std::memory_order_relaxed); }

void run_pieces(int pieces, void (*task)(const void*, int), const void* context) {
  if (pieces > 1 && threads() > 1 && ThreadPool::instance().run(pieces, task, context)) return;
  for (int piece = 0; piece < pieces; ++piece) task(context, piece);
}

}  // namespace unroll
