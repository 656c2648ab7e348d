#include "tests/standin/kernel_threads.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <regex>
#include <string>

#include <cxxabi.h>
#include <sys/mman.h>

#include "tests/standin/fibre.h"
#include "tests/standin/standin.h"
#include "tests/standin/threads_together.h"

namespace unroll::cuda {
uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;
}  // namespace unroll::cuda

namespace standin {

using unroll::cuda::Launch;

namespace {

// CUDA's documentation gives these limits for every compute capability since 5.0.
constexpr unsigned most_threads = 1024;
const dim3 most_threads_of_block(1024, 1024, 64), most_blocks(0x7fff'ffff, 65'535, 65'535);
constexpr std::size_t most_shared_bytes = 48 << 10;

// --- Orders

uint64_t seed() {
  const char* const given = std::getenv("UNROLL_STANDIN_SEED");
  return given ? std::strtoull(given, nullptr, 10) : 1;
}

}  // namespace

// SplitMix64 (Steele, Lea and Flood 2014).
uint64_t random_bits() {
  static uint64_t state = seed();
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

namespace {

// The numbers below `count`, each once: a linear congruential generator runs through all numbers of so many bits (Hull and Dobell
// 1962), whose low bits, which alternate, are mixed with the high ones.
class RandomOrder {
 public:
  RandomOrder() = default;
  explicit RandomOrder(uint64_t count)
      : count_(count),
        mask_(std::bit_ceil(count) - 1),
        factor_(4 * random_bits() + 1),
        summand_(2 * random_bits() + 1),
        at_(random_bits()),
        shift_((static_cast<int>(std::bit_width(mask_)) + 1) / 2) {}
  uint64_t next() {
    for (;;) {
      at_ = (at_ * factor_ + summand_) & mask_;
      const uint64_t result = at_ ^ at_ >> shift_;
      if (result < count_) return result;
    }
  }

 private:
  uint64_t count_ = 0, mask_ = 0, factor_ = 0, summand_ = 0, at_ = 0;
  int shift_ = 0;
};

// --- A launch

const Launch* launched = nullptr;
const void* given = nullptr;  // the kernel's arguments

}  // namespace

static std::string type_of_kernel(const Launch& launch) {
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(launch.type->name(), nullptr, nullptr, nullptr), std::free);
  return name ? name.get() : launch.type->name();
}
static std::string name_of_kernel(const Launch& launch) {
  static const std::regex functor("unroll::cuda::(?:\\(anonymous namespace\\)::)?(\\w+)");
  const std::string type = type_of_kernel(launch);
  std::smatch found;
  return std::regex_search(type, found, functor) ? found[1].str() : type;
}
static std::size_t bytes_read = 0, bytes_written = 0;  // by the next launch
void count_launch(const Launch& launch) {
  const dim3 &grid = launch.grid, &block = launch.block;
  count_moved(name_of_kernel(launch), std::exchange(bytes_read, 0), std::exchange(bytes_written, 0))
      .threads += int64_t{grid.x} * grid.y * grid.z * block.x * block.y * block.z;
}
void stop_kernel(const Launch& launch, const std::string& what) {
  stop("a kernel, " + type_of_kernel(launch) + ": " + what);
}
std::string place(const char* file, int line) { return std::string(file) + ":" + std::to_string(line); }

namespace {

// --- Shared memory: of each block, a place for each place of the text. Watched for races, blocks have memory of their own, or
// what one did to its memory would be a race with the next.

struct Place {
  const void* text;
  void* memory;
};
constexpr std::size_t most_places = 64, arena_bytes = std::size_t{64} << 20;
Place places[most_places];
std::size_t place_count = 0, shared_bytes = 0, arena_used = 0;

char* arena() {
  static char* const memory = static_cast<char*>(
      mmap(nullptr, arena_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (memory == MAP_FAILED) stop("the system has no memory for shared memory");
  return memory;
}

// --- A block

uint3 index_of[most_threads];
unsigned thread_count = 0, thread = 0;  // of a block; the one that runs
uint64_t block_count = 0;               // in all
Fibre *caller = nullptr, *fibres[2 * most_threads], *of_thread[most_threads];
unsigned carrying = 0;  // the number of the fibre on which threads begin

// From the beginning or a barrier to the next barrier or the end:
unsigned phase = 0, come = 0, ended = 0;  // how many threads have had their turn, and have met their end
RandomOrder turns;
const char* barrier_file = nullptr;  // where they wait
int barrier_line = 0, votes = 0, result_of_votes = 0;

// The places that order threads: the launch, its end, and the barriers of each block in turn.
char at_launch, at_end, at_barrier[1 << 16];
void* barrier_place() { return &at_barrier[(2 * block_count + phase % 2) % sizeof at_barrier]; }

void carry();
Fibre& made(Fibre*& fibre) {
  if (!fibre) fibre = new Fibre(carry);
  return *fibre;
}
// If races are watched, two consecutive blocks run on different fibres: accesses of both to one place are a race.
Fibre* fibre_for_beginning() {
  return &made(fibres[carrying + (races_are_watched ? block_count % 2 * most_threads : 0)]);
}
// And what one fibre did would be before all that another does which it had made.
void make_all_fibres() {
  for (unsigned i = 0; i < thread_count; ++i) made(fibres[i]), made(fibres[i + most_threads]);
}

// Whose turn it is when the one that runs is at a barrier or its end: a thread that has not come so far, or, when all have come
// to the barrier, one of them. Null: a thread that begins.
Fibre* next() {
  if (come == thread_count) {
    if (ended == thread_count) return caller;
    if (ended > 0)
      stop_kernel(*launched, std::to_string(ended) + " of a block's " + std::to_string(thread_count) +
                                 " threads have ended while the others wait at the barrier " +
                                 place(barrier_file, barrier_line));
    ++phase, come = 0;
    barrier_file = nullptr;
    result_of_votes = votes, votes = 0;
    turns = RandomOrder(thread_count);
  }
  ++come;
  thread = static_cast<unsigned>(turns.next());
  unroll::cuda::threadIdx = index_of[thread];
  return phase == 0 ? nullptr : of_thread[thread];
}

// A fibre's work: threads, from their beginning to their end. One that waits at a barrier keeps the fibre, and the next ones
// begin on another; where races are watched, so does one that has ended, as each thread must be a fibre of its own there.
void carry() {
  for (;;) {
    if (races_are_watched) order_after(&at_launch);
    launched->thread(given);
    if (races_are_watched) order_before(&at_end);
    ++ended;
    Fibre* following = next();
    if (!following) {
      if (!races_are_watched) continue;
      ++carrying;
      following = fibre_for_beginning();
    }
    following->go_on();
  }
}

int wait_at_barrier(int vote, const char* file, int line) {
  if (!barrier_file) barrier_file = file, barrier_line = line;
  if (barrier_line != line || (barrier_file != file && std::strcmp(barrier_file, file) != 0))
    stop_kernel(*launched, "threads of a block wait at different barriers, " +
                               place(barrier_file, barrier_line) + " and " + place(file, line));
  votes |= vote;
  of_thread[thread] = &Fibre::running();
  void* const here = barrier_place();
  if (races_are_watched) order_before(here);
  Fibre* following = next();
  if (!following) ++carrying, following = fibre_for_beginning();
  following->go_on();
  if (races_are_watched) order_after(here);
  return result_of_votes;
}

void set_shape(const dim3& block) {
  static dim3 last(0);
  if (block.x == last.x && block.y == last.y && block.z == last.z) return;
  last = block;
  thread_count = block.x * block.y * block.z;
  for (unsigned i = 0; i < thread_count; ++i)
    index_of[i] = {i % block.x, i / block.x % block.y, i / block.x / block.y};
}

void run_block() {
  place_count = shared_bytes = 0;
  phase = come = ended = carrying = 0;
  barrier_file = nullptr;
  ++block_count;
  turns = RandomOrder(thread_count);
  next();
  fibre_for_beginning()->go_on();
}

}  // namespace

void require_launchable(const Launch& launch) {
  const auto require = [&](const char* what, const dim3& size, const dim3& most, uint64_t most_in_all) {
    const auto is_within = [](unsigned n, unsigned most) { return n > 0 && n <= most; };
    if (is_within(size.x, most.x) && is_within(size.y, most.y) && is_within(size.z, most.z) &&
        uint64_t{size.x} * size.y * size.z <= most_in_all)
      return;
    stop_kernel(launch, std::string("a ") + what + " of " + std::to_string(size.x) + " x " +
                            std::to_string(size.y) + " x " + std::to_string(size.z) +
                            " is none that a GPU takes");
  };
  require("grid", launch.grid, most_blocks, UINT64_MAX);
  require("block", launch.block, most_threads_of_block, most_threads);
  if (!launch.together) return;
  // All at once: a processor has 2048 threads, and for each block a KiB of shared memory more than that may ask for.
  const Control& gpu = control();
  if (launch.shared_bytes > gpu.shared_memory)
    stop_kernel(launch, std::to_string(launch.shared_bytes) + " bytes of shared memory, where " +
                            std::to_string(gpu.shared_memory) + " are the most");
  const std::size_t of_processor =
      std::min<std::size_t>(2048 / (launch.block.x * launch.block.y * launch.block.z),
                            (gpu.shared_memory + 1024) / (launch.shared_bytes + 1024));
  const std::size_t most = of_processor * static_cast<std::size_t>(gpu.processors),
                    blocks = std::size_t{launch.grid.x} * launch.grid.y * launch.grid.z;
  if (blocks > most)
    stop_kernel(launch, std::to_string(blocks) + " blocks that wait for each other, where " +
                            std::to_string(most) + " fit the GPU at once");
}

void run_threads(const Launch& launch, const void* arguments) {
  if (launch.together) return run_together(launch, arguments);
  launched = &launch, given = arguments;
  const dim3 grid = launch.grid, block = launch.block;
  unroll::cuda::gridDim = grid, unroll::cuda::blockDim = block;
  set_shape(block);
  Fibre here;
  caller = &here;
  arena();
  if (races_are_watched) make_all_fibres();
  order_before(&at_launch);
  const uint64_t blocks = uint64_t{grid.x} * grid.y * grid.z;
  RandomOrder order(blocks);
  for (uint64_t n = 0; n < blocks; ++n) {
    const uint64_t b = order.next();
    unroll::cuda::blockIdx = {static_cast<unsigned>(b % grid.x), static_cast<unsigned>(b / grid.x % grid.y),
                              static_cast<unsigned>(b / grid.x / grid.y)};
    run_block();
    if (arena_used > arena_bytes / 2) {  // from here on places are taken again
      order_after(&at_end);
      order_before(&at_launch);
      arena_used = 0;
    }
  }
  order_after(&at_end);
}

}  // namespace standin

namespace unroll::cuda {

void count_bytes(std::size_t read, std::size_t written) {
  standin::bytes_read += read, standin::bytes_written += written;
}

void __syncthreads(const char* file, int line) { __syncthreads_or(0, file, line); }
int __syncthreads_or(int mine, const char* file, int line) {
  return standin::together() ? standin::wait_together(mine != 0, file, line)
                             : standin::wait_at_barrier(mine != 0, file, line);
}

void* shared_memory(const void* place, std::size_t bytes) {
  using namespace standin;
  if (together()) return shared_together(place, bytes);
  for (std::size_t i = 0; i < place_count; ++i)
    if (places[i].text == place) return places[i].memory;
  const std::size_t aligned = (bytes + 15) / 16 * 16;
  shared_bytes += aligned;
  if (shared_bytes > most_shared_bytes || place_count == most_places)
    stop_kernel(*launched,
                "more than " + std::to_string(most_shared_bytes) + " bytes of shared memory in a block");
  if (!races_are_watched && place_count == 0) arena_used = 0;
  char* const memory = arena() + arena_used;
  arena_used += aligned;
  // NaN in all types. Byte after byte: a memset would be a write of this thread, to ThreadSanitizer.
  for (std::size_t i = 0; i < bytes; ++i) static_cast<volatile char*>(memory)[i] = static_cast<char>(0xff);
  places[place_count++] = {place, memory};
  return memory;
}

}  // namespace unroll::cuda
