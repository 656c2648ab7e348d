#include "tests/standin/threads_together.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "tests/standin/fibre.h"
#include "tests/standin/kernel_threads.h"
#include "tests/standin/standin.h"

namespace standin {

using unroll::cuda::Launch;

namespace {

constexpr unsigned lanes = 32;
constexpr std::size_t most_exchanged = 64;        // bytes of a lane
constexpr std::size_t most_in_places = 48 << 10;  // of shared memory that is not dynamic

// Threads that wait for each other: of a block or of a warp.
struct Meeting {
  unsigned expected = 0, come = 0, phase = 0;
  const char *what = "", *file = nullptr;  // where the first of them waits
  int line = 0;
  std::vector<unsigned> waiting;
  char at[2] = {};  // what orders them, in turn
};

struct Warp {
  Meeting meeting;
  alignas(16) char given[2][lanes * most_exchanged];
};

struct Shared {
  const void* text;
  char* memory;
};

struct Block {
  uint3 index{};
  Meeting meeting;
  unsigned ended = 0;
  int votes = 0, result_of_votes = 0;
  std::vector<Warp> warps;
  Shared shared[16];
  std::size_t places = 0, shared_bytes = 0;
  char *dynamic = nullptr, *next_shared = nullptr;
};

// If races are watched, nothing here may ask for memory, or move it by the C library, while threads run:
// ThreadSanitizer would take that for what the kernel's threads do.
const Launch* launched = nullptr;  // null: none runs
const void* given = nullptr;
std::vector<Block> blocks;
std::vector<Fibre*> fibres;   // by thread of the grid; they are kept from launch to launch
std::vector<unsigned> ready;  // threads that may go on
unsigned thread = 0;          // that runs
uint64_t late = 0;  // the block whose threads are drawn again three times in four; none if there is no block of that number
uint64_t ended = 0, idle = 0;  // threads; how often one looked since the last change
Fibre* caller = nullptr;
uint3 index_in_block[1024];
char at_launch, at_end;

unsigned threads_of_block() { return launched->block.x * launched->block.y * launched->block.z; }
Block& block() { return blocks[thread / threads_of_block()]; }
unsigned in_block() { return thread % threads_of_block(); }

void fill(char* memory, std::size_t bytes) {  // NaN; not by memset, which ThreadSanitizer would see
  for (std::size_t i = 0; i < bytes; ++i) static_cast<volatile char*>(memory)[i] = static_cast<char>(0xff);
}

[[noreturn]] void stop_waiting() {
  std::map<std::string, unsigned> where;
  const auto add = [&](const Meeting& m) {
    if (m.come > 0) where[m.what + std::string(" ") + place(m.file, m.line)] += m.come;
  };
  for (const Block& b : blocks) {
    add(b.meeting);
    for (const Warp& w : b.warps) add(w.meeting);
  }
  std::string text;
  for (const auto& [what, count] : where)
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " at " + what;
  const auto looking = static_cast<uint64_t>(ready.size());
  if (looking > 0)
    text +=
        (text.empty() ? "" : ", ") + std::to_string(looking) + " for a number that nobody changes any more";
  stop_kernel(*launched, "threads wait for ever: " + text + "; " + std::to_string(ended) + " of " +
                             std::to_string(fibres.size()) + " have ended");
}

// Somebody else's turn.
void go_on() {
  if (ready.empty()) {
    if (ended < uint64_t{blocks.size()} * threads_of_block()) stop_waiting();
    return caller->go_on();
  }
  std::size_t k = random_bits() % ready.size();
  if (ready[k] / threads_of_block() == late && random_bits() % 4 > 0) k = random_bits() % ready.size();
  thread = ready[k];
  ready[k] = ready.back(), ready.pop_back();
  unroll::cuda::threadIdx = index_in_block[in_block()];
  unroll::cuda::blockIdx = block().index;
  fibres[thread]->go_on();
}

// Returns when all that are expected have come.
void meet(Meeting& m, const char* what, const char* file, int line) {
  if (m.come == 0) m.what = what, m.file = file, m.line = line;
  if (m.line != line || std::strcmp(m.file, file) != 0 || m.what != what)
    stop_kernel(*launched, std::string("threads of a ") + (m.expected == lanes ? "warp" : "block") +
                               " wait at different places, " + place(m.file, m.line) + " and " +
                               place(file, line));
  idle = 0;
  if (++m.come < m.expected) {
    m.waiting.push_back(thread);
    return go_on();
  }
  ++m.phase, m.come = 0;
  for (const unsigned other : m.waiting) ready.push_back(other);
  m.waiting.clear();
  ready.push_back(thread);  // who came last need not be the first to go on
  go_on();
}

// Like meet(). In addition everything that a thread did before is visible to all afterwards.
void meet_in_order(Meeting& m, const char* what, const char* file, int line) {
  void* const here = &m.at[m.phase % 2];
  if (races_are_watched) order_before(here);
  meet(m, what, file, line);
  if (races_are_watched) order_after(here);
}

void carry() {
  for (;;) {
    if (races_are_watched) order_after(&at_launch);
    launched->thread(given);
    if (races_are_watched) order_before(&at_end);
    ++ended, idle = 0;
    Block& mine = block();
    if (++mine.ended < threads_of_block() && mine.meeting.come + mine.ended == threads_of_block())
      stop_kernel(*launched, std::to_string(mine.ended) + " of a block's " +
                                 std::to_string(threads_of_block()) +
                                 " threads have ended while the others wait at the barrier " +
                                 place(mine.meeting.file, mine.meeting.line));
    go_on();
  }
}

// A block's shared memory, of which dynamic memory ends where a page begins that nobody may touch.
char* block_memory(std::vector<std::pair<char*, std::size_t>>& ends, std::size_t number, std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t whole = (bytes + page - 1) / page * page;
  if (ends.size() <= number) ends.resize(number + 1);
  auto& [end, room] = ends[number];
  if (room < whole) {
    void* const memory = mmap(nullptr, whole + page, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || mprotect(static_cast<char*>(memory) + whole, page, PROT_NONE))
      stop("the system has no memory for shared memory");
    end = static_cast<char*>(memory) + whole, room = whole;
  }
  char* const begin = end - (bytes + 15) / 16 * 16;
  fill(begin, bytes);
  return begin;
}

Warp& warp_together(const char* call) {
  if (!launched)
    stop(std::string("a kernel: ") + call + " is of kernels that are launched together (launch_together)");
  return block().warps[in_block() / lanes];
}

}  // namespace

bool together() { return launched != nullptr; }

void run_together(const Launch& launch, const void* arguments) {
  launched = &launch, given = arguments;
  const dim3 grid = launch.grid, shape = launch.block;
  unroll::cuda::gridDim = grid, unroll::cuda::blockDim = shape;
  const unsigned threads = threads_of_block(), count = grid.x * grid.y * grid.z;
  for (unsigned i = 0; i < threads; ++i)
    index_in_block[i] = {i % shape.x, i / shape.x % shape.y, i / shape.x / shape.y};
  Fibre here;
  caller = &here;
  blocks.clear(), blocks.resize(count);
  for (unsigned b = 0; b < count; ++b) {
    Block& block = blocks[b];
    block.index = {b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y};
    block.meeting.expected = threads;
    block.warps.resize((threads + lanes - 1) / lanes);
    for (std::size_t w = 0; w < block.warps.size(); ++w)
      block.warps[w].meeting.expected = std::min<unsigned>(lanes, threads - static_cast<unsigned>(w) * lanes);
    block.meeting.waiting.reserve(threads);
    for (Warp& warp : block.warps) warp.meeting.waiting.reserve(lanes);
    static std::vector<std::pair<char*, std::size_t>> dynamic, of_places;
    if (launch.shared_bytes > 0) block.dynamic = block_memory(dynamic, b, launch.shared_bytes);
    block.next_shared = block_memory(of_places, b, most_in_places);
    block.shared_bytes = launch.shared_bytes;
  }
  ended = idle = 0;
  late = random_bits() % (4 * uint64_t{count});  // in one launch of four a block falls behind
  ready.clear(), ready.reserve(std::size_t{count} * threads);
  for (unsigned i = 0; i < count * threads; ++i) {
    if (fibres.size() <= i) fibres.push_back(new Fibre(carry));
    ready.push_back(i);
  }
  if (races_are_watched) order_before(&at_launch);
  go_on();
  if (races_are_watched) order_after(&at_end);
  launched = nullptr;
}

int wait_together(int vote, const char* file, int line) {
  Block& mine = block();
  if (mine.meeting.come == 0) mine.votes = 0;
  mine.votes |= vote;
  if (mine.meeting.come + 1 == mine.meeting.expected) mine.result_of_votes = mine.votes;
  if (mine.ended > 0 && mine.meeting.come + 1 + mine.ended == threads_of_block())
    stop_kernel(*launched,
                std::to_string(mine.ended) + " of a block's " + std::to_string(threads_of_block()) +
                    " threads have ended while the others wait at the barrier " + place(file, line));
  meet_in_order(mine.meeting, "the barrier", file, line);
  return mine.result_of_votes;
}

void* shared_together(const void* text, std::size_t bytes) {
  Block& mine = block();
  for (std::size_t i = 0; i < mine.places; ++i)
    if (mine.shared[i].text == text) return mine.shared[i].memory;
  const std::size_t aligned = (bytes + 15) / 16 * 16;
  mine.shared_bytes += aligned;
  if (mine.shared_bytes > control().shared_memory ||
      mine.shared_bytes - launched->shared_bytes > most_in_places || mine.places == std::size(mine.shared))
    stop_kernel(*launched, "more than " + std::to_string(most_in_places) +
                               " bytes of shared memory in a block, or " +
                               std::to_string(control().shared_memory) + " with what the launch gave it");
  char* const memory = mine.next_shared;
  mine.next_shared += aligned;
  mine.shared[mine.places++] = {text, memory};
  return memory;
}

}  // namespace standin

namespace unroll::cuda {

using namespace standin;

void* dynamic_shared_memory() {
  if (!together() || !block().dynamic) stop("a kernel: it was given no dynamic shared memory");
  return block().dynamic;
}

void __syncwarp(const char* file, int line) {
  meet_in_order(warp_together("__syncwarp").meeting, "__syncwarp", file, line);
}

const void* exchange_in_warp(const void* mine, std::size_t bytes, const char* file, int line) {
  Warp& warp = warp_together("an exchange within a warp");
  if (bytes > most_exchanged) stop("a kernel: a lane gives more bytes than an exchange takes");
  if (warp.meeting.expected != lanes)
    stop_kernel(*launched,
                "an exchange within a warp of " + std::to_string(warp.meeting.expected) + " threads");
  // A lane can be ahead of another by one exchange, hence two buffers.
  char* const all = warp.given[warp.meeting.phase % 2];
  const char* const from = static_cast<const char*>(mine);
  char* const to = all + in_block() % lanes * bytes;
  for (std::size_t i = 0; i < bytes; ++i) static_cast<volatile char*>(to)[i] = from[i];
  meet(warp.meeting, "an exchange within a warp", file, line);
  return all;
}

void has_changed() { idle = 0; }
void end_with_error() { stop_kernel(*launched, "ended with an error"); }

void let_others_run() {
  if (!together())
    stop(
        "a kernel: it waits for a number that another block is to change, and not all blocks run (launch_together)");
  ready.push_back(thread);
  // After so many draws every thread that may run has had one, of a block that falls behind, too.
  if (++idle > 256 * (ready.size() + 1)) stop_waiting();
  go_on();
}

}  // namespace unroll::cuda
