// The caching pools behind every tensor: the host's, and with a GPU that of its memory.
//
// A block that is released is kept and handed out again, the oldest of its size first. A large block of the host's
// also serves a request for a little less. A training step that asks for the same sizes in the same order therefore
// gets the same addresses as the step before, and asks the system for nothing.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "framework/check.h"

namespace unroll {

// Whose memory: that of the device that computes (device.h), or always the host's. On a CPU they are the same.
enum class Place : uint8_t { device, host };

// Figures of one pool.
struct MemoryStatistics {
  int64_t system_calls = 0;  // times the pool had to ask the system
  int64_t reserved = 0;      // bytes held from the system
  int64_t in_use = 0;        // bytes of blocks in use
  int64_t peak = 0;          // the largest `in_use` since reset_peak_memory()
};
MemoryStatistics memory_statistics();  // of the device's memory
void reset_peak_memory();              // sets the peak to what is in use

// The most memory that this process has had at once, in bytes, weights, text and code included. 0 if the system does not say.
int64_t peak_memory_of_process();

// A refusal of the pool, with figures for those who can say what to do.
struct MemoryRefused : OutOfMemory {
  MemoryRefused(const std::string& what, int64_t bytes_asked, int64_t bytes_in_use, int64_t all_room)
      : OutOfMemory(what), asked(bytes_asked), in_use(bytes_in_use), room(all_room) {}
  int64_t asked;   // bytes
  int64_t in_use;  // of tensors, then
  int64_t room;    // all that tensors could have at once; 0: the system does not say
};
// Advice if weights and gradients do not fit: no smaller batch helps then.
constexpr const char* less_for_weights = "; a smaller model needs less";

// Whether no block was ever asked for on the device. (What is taken for standard containers does not count.)
bool device_memory_is_untouched();

// Gives free blocks of a GPU back to it where it has less left than they are: what is recorded as a graph (graph.h) takes
// its memory from a pool of its own.
void make_room_for_recording();
// After a recording that failed: gives back to the GPU what that pool took for it.
void give_back_failed_recording();
// While it holds, what is given back of a GPU's memory is not handed out again (lanes.h).
void hold_device_memory(bool holds);

// Bare memory of the host from its pool.
void* pool_allocate(std::size_t bytes);
void pool_release(void* memory);  // gives a block of pool_allocate() back

// When memory was last written. The clock goes on, next(), with each operation that a tape records, so a backward sees what was
// written after its operation (tape.h). A write in a backward pass counts as written when its operation was recorded.
class WriteTime {
 public:
  static uint64_t next() { return clock_.fetch_add(1, std::memory_order_relaxed); }
  // The time of the operation whose backward runs on this thread: nothing that it reads may be newer. Else no bound.
  static constexpr uint64_t no_bound = UINT64_MAX;
  static inline constinit thread_local uint64_t bound = no_bound;

  uint64_t last() const { return last_.load(std::memory_order_relaxed); }
  bool is_newer() const { return last() > bound; }  // than what this thread's backward may read
  void set() {                                      // counts as a write now
    const uint64_t now = std::min(clock_.load(std::memory_order_relaxed), bound);
    last_.store(now, std::memory_order_relaxed);
    if (parts_) [[unlikely]]
      set_parts(now);
  }
  void forget() { last_.store(0, std::memory_order_relaxed); }  // as if never written
  // Whether a gradient lies there.
  bool of_gradient() const { return of_gradient_; }
  void mark_gradient() { of_gradient_ = true; }  // a gradient lies there
  const char* name() const { return name_; }     // of the parameter that lies there; else ""

 private:
  friend class Memory;
  friend class Pool;
  struct Parts;
  void set_parts(uint64_t now);
  static inline constinit std::atomic<uint64_t> clock_ = 1;
  std::atomic<uint64_t> last_ = 0;
  Parts* parts_ = nullptr;  // what is written as a whole is written in each part
  const char* name_ = "";
  bool of_gradient_ = false;
};

// A counted reference to a block of memory, aligned to 64 bytes, its contents left as they were.
class Memory {
 public:
  Memory() = default;
  explicit Memory(std::size_t bytes, Place place = Place::device);  // throws OutOfMemory, naming the size
  Memory(const Memory& other) : block_(other.block_) {
    if (block_) block_->users.fetch_add(1, std::memory_order_relaxed);
  }
  Memory(Memory&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Memory& operator=(Memory other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Memory() {
    if (block_ && block_->users.fetch_sub(1, std::memory_order_acq_rel) == 1) release();
  }

  void* data() const { return block_ ? block_->data : nullptr; }  // on its device; nullptr: none
  WriteTime* write_time() const { return block_ ? &block_->written : nullptr; }  // of the whole block
  // Gives parts of the block times of their own, by name; they live as long as the block is in use.
  void divide(std::vector<std::string> names) const;
  WriteTime* write_time_of(size_t part) const;  // of a part that divide() made

 private:
  // The header of a block; the host's stand before their data, those of a GPU's memory are elsewhere.
  struct alignas(64) Block {
    std::atomic<int> users;
    int size_class;
    int number;  // among the blocks of its class, in order of creation
    enum class Home : uint8_t { host, gpu, graphs } home;  // the pool that it goes back to
    void* data;
    WriteTime written;
  };
  friend class Pool;
  void release();
  Block* block_ = nullptr;
};

// For standard containers whose memory comes from the pool.
template <class T>
struct PoolAllocator {
  using value_type = T;
  PoolAllocator() = default;
  template <class U>
  PoolAllocator(const PoolAllocator<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(pool_allocate(n * sizeof(T))); }
  void deallocate(T* p, std::size_t) { pool_release(p); }
  bool operator==(const PoolAllocator&) const { return true; }
};

}  // namespace unroll
