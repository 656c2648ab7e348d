#include "framework/memory.h"

#include <array>
#include <bit>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <new>

#include <sys/mman.h>

#include "framework/device.h"

namespace unroll {

struct WriteTime::Parts {
  std::vector<std::string> names;
  std::vector<WriteTime> times;
};

void WriteTime::set_parts(uint64_t now) {
  for (WriteTime& part : parts_->times) part.last_.store(now, std::memory_order_relaxed);
}

// Free blocks by size class. Classes are 2^k · {1, 1.25, 1.5, 1.75} bytes, so that at most a fifth is wasted; of the host's
// large blocks, where a free one is of one of the next two classes, half.
class Pool {
 public:
  using Block = Memory::Block;
  using Home = Block::Home;

  static Pool& of(Home home) {  // never destroyed: tensors of static duration may outlive them
    static Pool* const pools = new Pool[3]{Pool(Home::host), Pool(Home::gpu), Pool(Home::graphs)};
    return pools[static_cast<int>(home)];
  }
  // Recorded work has blocks of its own: a graph goes on using them, though to the pool they are free once it is recorded.
  static Pool& of(Place place) {
    if (place == Place::host || !on_gpu()) return of(Home::host);
    return of(recording_graph() ? Home::graphs : Home::gpu);
  }

  Block* take(std::size_t bytes, bool for_tensor = false) {
    const int size_class = class_of(bytes);
    const std::size_t size = size_of(size_class);
    std::lock_guard lock(mutex_);
    touched_ = touched_ || for_tensor;
    Free& free = free_[size_class];
    Block* block = free_block(size_class);
    // Two large users, packed operands of a layer's product and the loss, take turns in one block.
    if (home_ == Home::host && size >= huge)
      for (int larger = size_class + 1; !block && larger <= size_class + 2; ++larger)
        block = free_block(larger);
    if (!block) {
      if (free.blocks.size() == free.blocks.capacity()) free.blocks.reserve(2 * free.blocks.capacity() + 4);
      free.bits.resize(free.blocks.size() / 64 + 1);
      block = home_ == Home::host ? from_host(size, bytes) : from_gpu(size);
      if (!block) refuse(size);
      block->size_class = size_class;
      block->number = static_cast<int>(free.blocks.size());
      free.blocks.push_back(block);
      if (++blocks_ > static_cast<int64_t>(held_.capacity())) held_.reserve(2 * static_cast<size_t>(blocks_));
      ++statistics_.system_calls;
      statistics_.reserved += static_cast<int64_t>(size);
    }
    block->users.store(1, std::memory_order_relaxed);
    block->written.forget(), block->written.of_gradient_ = false;
    statistics_.in_use += static_cast<int64_t>(size_of(block->size_class));
    statistics_.peak = std::max(statistics_.peak, statistics_.in_use);
    return block;
  }

  void give_back(Block* block) {
    delete std::exchange(block->written.parts_, nullptr);
    std::lock_guard lock(mutex_);
    holds_ ? held_.push_back(block) : free_now(block);  // there is room for every block
  }
  // While it holds, what is given back is not handed out again.
  void hold(bool holds) {
    std::lock_guard lock(mutex_);
    holds_ = holds;
    if (holds) return;
    for (Block* block : held_) free_now(block);
    held_.clear();
  }

  bool untouched() {
    std::lock_guard lock(mutex_);
    return !touched_;
  }
  MemoryStatistics statistics() {
    std::lock_guard lock(mutex_);
    return statistics_;
  }
  void reset_peak() {
    std::lock_guard lock(mutex_);
    statistics_.peak = statistics_.in_use;
  }
  void make_room() {
    std::lock_guard lock(mutex_);
    if (statistics_.reserved - statistics_.in_use > device_facts().free) give_up_free_blocks();
  }
  void remember_blocks() {
    std::lock_guard lock(mutex_);
    for (Free& free : free_) free.remembered = free.blocks.size();
  }
  void give_up_new_blocks() {
    std::lock_guard lock(mutex_);
    for (Free& free : free_)
      for (size_t number = free.remembered; number < free.blocks.size(); ++number)
        if (const uint64_t bit = uint64_t{1} << number % 64; free.bits[number / 64] & bit)
          free.bits[number / 64] ^= bit, give_up(free.blocks[number]);
  }

 private:
  explicit Pool(Home home) : home_(home) {}

  Block* free_block(int size_class) {
    Free& free = free_[size_class];
    while (free.first < free.bits.size() && free.bits[free.first] == 0) ++free.first;
    if (free.first == free.bits.size()) return nullptr;
    uint64_t& bits = free.bits[free.first];
    Block* const block = free.blocks[64 * free.first + static_cast<size_t>(std::countr_zero(bits))];
    bits &= bits - 1;
    return block;
  }

  static constexpr std::size_t huge = std::size_t{2} << 20;  // a large page

  static Block* from_host(std::size_t size, std::size_t asked) {
    void* raw = from_system(sizeof(Block) + size, sizeof(Block) + asked);
    if (!raw) return nullptr;
    Block* block = new (raw) Block;
    block->home = Home::host;
    block->data = block + 1;
    return block;
  }
  // Before it gives up, what is free in other sizes goes back: its addresses will not repeat any more, which beats
  // stopping. But what is free to recordings is a graph's.
  Block* from_gpu(std::size_t size) {
    void* data = allocate_on_gpu(size);
    if (!data && home_ == Home::gpu && give_up_free_blocks()) data = allocate_on_gpu(size);
    if (!data) return nullptr;
    Block* block = new Block;
    block->home = home_;
    block->data = data;
    return block;
  }
  bool give_up_free_blocks() {
    bool any = false;
    for (int size_class = 0; size_class < std::ssize(free_); ++size_class)
      while (Block* const block = free_block(size_class)) any = true, give_up(block);
    return any;
  }
  void free_now(Block* block) {
    statistics_.in_use -= static_cast<int64_t>(size_of(block->size_class));
    Free& free = free_[block->size_class];
    const auto number = static_cast<size_t>(block->number);
    free.bits[number / 64] |= uint64_t{1} << number % 64;
    free.first = std::min(free.first, number / 64);
  }

  void give_up(Block* block) {
    release_on_gpu(block->data);
    statistics_.reserved -= static_cast<int64_t>(size_of(block->size_class));
    --blocks_;
    delete block;
  }

  // A large block begins with a page of 2 MiB and asks for such pages: a product walks its operands by columns and
  // rows, and with pages of 4 KiB waits for their addresses. But only for those that the first use fills: a page of
  // which a corner is used takes all its memory.
  static void* from_system(std::size_t bytes, std::size_t used) {
    if (bytes < huge) return std::aligned_alloc(alignof(Block), bytes);
    void* raw = nullptr;
    if (posix_memalign(&raw, huge, bytes) != 0) return nullptr;
    madvise(raw, used / huge * huge, MADV_HUGEPAGE);  // advice: without it everything works, slower
    return raw;
  }

  static int class_of(std::size_t bytes) {
    const std::size_t size = std::max<std::size_t>(bytes, 256);
    const int log = static_cast<int>(std::bit_width(size)) - 1;
    const std::size_t quarter = std::size_t{1} << (log - 2);
    const int steps = static_cast<int>((size - (std::size_t{1} << log) + quarter - 1) / quarter);
    return 4 * log + steps;  // steps may be 4, which is the first class of the next power
  }
  static std::size_t size_of(int size_class) {
    const int log = size_class / 4;
    return (std::size_t{1} << log) + (static_cast<std::size_t>(size_class % 4) << (log - 2));
  }
  [[noreturn]] void refuse(std::size_t size) const {
    const auto asked = static_cast<int64_t>(size);
    int64_t in_use = statistics_.in_use;
    if (home_ == Home::host)
      throw MemoryRefused(
          fmt::format("out of memory: {} MiB asked for, {} MiB in use", asked >> 20, in_use >> 20), asked,
          in_use, 0);
    const DeviceFacts facts = device_facts();
    // Recorded work stands beside the weights and all else that is not recorded.
    const bool recorded = home_ == Home::graphs;
    const MemoryStatistics beside = recorded ? of(Home::gpu).statistics() : MemoryStatistics{};
    in_use += beside.in_use;
    throw MemoryRefused(
        fmt::format("out of memory on {}: {} MiB asked for, {} of {} MiB free, {} MiB in use by tensors",
                    facts.name, asked >> 20, facts.free >> 20, facts.memory >> 20, in_use >> 20),
        asked, in_use, statistics_.reserved + beside.reserved + facts.free);
  }

  const Home home_;
  bool touched_ = false;
  std::mutex mutex_;
  // The oldest block goes first: what a step gets depends on which blocks are free when it begins, not on the order
  // in which they were given back.
  struct Free {
    std::vector<Block*> blocks;  // all of this class that there ever were, by their numbers
    std::vector<uint64_t> bits;  // a block's is 1 while it is free
    size_t first = 0;            // no word of bits before this one has a 1
    size_t remembered = 0;       // how many blocks there were when the last recording began
  };
  std::array<Free, 4 * 64> free_;
  int64_t blocks_ = 0;  // of all classes
  bool holds_ = false;
  std::vector<Block*> held_;
  MemoryStatistics statistics_;
};

using Home = Pool::Home;

Memory::Memory(std::size_t bytes, Place place)
    : block_(Pool::of(place).take(bytes, place == Place::device)) {}
void Memory::divide(std::vector<std::string> names) const {
  auto* const parts = new WriteTime::Parts{std::move(names), {}};
  parts->times = std::vector<WriteTime>(parts->names.size());
  for (size_t i = 0; i < parts->names.size(); ++i) parts->times[i].name_ = parts->names[i].c_str();
  delete std::exchange(block_->written.parts_, parts);
}
WriteTime* Memory::write_time_of(size_t part) const { return &block_->written.parts_->times[part]; }
void Memory::release() { Pool::of(block_->home).give_back(block_); }

// A block's header stands before its data.
void* pool_allocate(std::size_t bytes) { return Pool::of(Place::host).take(bytes)->data; }
void pool_release(void* memory) { Pool::of(Place::host).give_back(static_cast<Pool::Block*>(memory) - 1); }

MemoryStatistics memory_statistics() {
  if (!on_gpu()) return Pool::of(Home::host).statistics();
  MemoryStatistics result = Pool::of(Home::gpu).statistics();
  const MemoryStatistics graphs = Pool::of(Home::graphs).statistics();  // which keep what they have
  result.system_calls += graphs.system_calls;
  for (int64_t* bytes : {&result.reserved, &result.in_use, &result.peak}) *bytes += graphs.reserved;
  return result;
}
void make_room_for_recording() {
  Pool::of(Home::gpu).make_room();
  Pool::of(Home::graphs).remember_blocks();
}
void give_back_failed_recording() { Pool::of(Home::graphs).give_up_new_blocks(); }
void hold_device_memory(bool holds) { Pool::of(Home::gpu).hold(holds), Pool::of(Home::graphs).hold(holds); }
void reset_peak_memory() { Pool::of(on_gpu() ? Home::gpu : Home::host).reset_peak(); }
bool device_memory_is_untouched() { return Pool::of(Place::device).untouched(); }

int64_t peak_memory_of_process() {
  std::ifstream status(
      "/proc/self/status");  // not getrusage: its figure survives exec, and may be a parent's
  for (std::string word; status >> word;)
    if (int64_t kib = 0; word == "VmHWM:" && status >> kib) return kib * 1024;
  return 0;
}

}  // namespace unroll
