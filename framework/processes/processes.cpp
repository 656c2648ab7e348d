#include "framework/processes/processes.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/ranges.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "framework/clock.h"
#include "framework/device.h"
#include "framework/processes/transport.h"
#include "framework/signals.h"

namespace unroll {

namespace {

std::unique_ptr<Transport> transport;
std::unique_ptr<GpuTransport> gpus;
std::optional<std::string> why_no_gpus;  // once it was asked
bool alone_for_now = false;
bool failed = false;   // this rank, or another: nothing is exchanged any more
bool gave_up = false;  // waiting, after a signal
std::atomic<bool> abandoned = false;
std::thread::id of_group;  // the thread that has joined
int code_to_tell = 0;      // to the others, when the group ends
LocalProcesses local;

constexpr double patience_after_signal = 5, between_notes = 60;  // seconds

int number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  return text ? std::atoi(text) : 0;
}

// How many were started together, as far as the environment says: by Open MPI's mpirun, or by a scheduler that speaks PMI or
// PMIx. SLURM_STEP_NUM_TASKS counts only beside PMIX_RANK: a step of Slurm's that is none of MPI's has it, too.
int launched() {
  if (const int count = number_in("OMPI_COMM_WORLD_SIZE")) return count;
  if (const int count = number_in("PMI_SIZE")) return count;
  return std::getenv("PMIX_RANK") ? number_in("SLURM_STEP_NUM_TASKS") : 0;
}

Transport& others() {
  require(transport && !alone_for_now && !failed && !abandoned,
          "processes: there is nobody to exchange with");
  return *transport;
}

// Throws if another rank has failed.
void look_for_failure() {
  if (const auto word = transport->find_word()) {
    failed = true;
    throw OtherRankFailed(word->from, word->word);
  }
}

// Looks at blocks until all are done. At first without a pause, then with longer and longer ones.
class Wait {
 public:
  void add(int number, int rank) { pending_.push_back({number, rank}); }
  // Waits also for what the GPUs do with another rank.
  void add_gpus(int rank) { pending_.push_back({of_gpus, rank}); }
  void finish() {
    const double begin = clock_seconds();
    double noted = begin, signalled = 0;
    for (int64_t looks = 0; !look(); ++looks) {
      if (abandoned) throw Error("processes: an exchange was given up");
      look_for_failure();
      const double now = clock_seconds();
      if (const int signal = signal_received()) {
        if (signalled == 0) signalled = now;
        gave_up |= now - signalled > patience_after_signal;
        if (gave_up) throw Interrupted(signal, fmt::format("{} not answer; ", pending_ranks("does", "do")));
      }
      if (is_first_process() && now - noted > between_notes) {
        noted = now;
        std::fprintf(stderr, "%s\n",
                     fmt::format("rank 0 has waited for {:.0f} s: {} stopped, or busy", now - begin,
                                 pending_ranks("is", "are"))
                         .c_str());
      }
      pause(now - begin);
    }
    if (transport->count > 1) look_for_failure();
  }

 private:
  static constexpr int of_gpus = -1;  // numbers are from 0
  struct Pending {
    int number, rank;
  };
  bool look() {
    std::optional<bool> gpus_are_done;  // of all ranks at once
    std::erase_if(pending_, [&](const Pending& pending) {
      if (pending.number != of_gpus) return transport->is_done(pending.number);
      if (!gpus_are_done) gpus_are_done = gpus->is_done();
      return *gpus_are_done;
    });
    return pending_.empty();
  }
  // "rank 1 is", "ranks 1, 3 are"
  std::string pending_ranks(const char* one, const char* several) const {
    std::vector<int> ranks;
    for (const Pending& pending : pending_) ranks.push_back(pending.rank);
    std::ranges::sort(ranks);
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks.size() == 1 ? fmt::format("rank {} {}", ranks[0], one)
                             : fmt::format("ranks {} {}", fmt::join(ranks, ", "), several);
  }
  static void pause(double waited) {
    if (waited < 0.002 &&
        std::this_thread::get_id() == of_group) {  // another leaves its core to what it waits beside
      sched_yield();
      return;
    }
    const timespec some{0, waited < 0.1 ? 20'000 : 200'000};
    nanosleep(&some, nullptr);
  }
  std::vector<Pending> pending_;
};

// Sends everybody `mine`, and receives the block of each other rank in its place.
void gather_blocks(std::span<const std::byte> mine, const std::vector<std::span<std::byte>>& all) {
  const int count = transport->count, rank = transport->rank;
  Wait wait;
  for (int step = 1; step < count; ++step) {
    const int to = (rank + step) % count, from = (rank + count - step) % count;
    const std::span<std::byte> block = all[static_cast<std::size_t>(from)];
    if (!block.empty()) wait.add(transport->receive(from, block.data(), block.size()), from);
    if (!mine.empty()) wait.add(transport->send(to, mine.data(), mine.size()), to);
  }
  wait.finish();
}

LocalProcesses find_local() {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  cpu_set_t cores;
  CPU_ZERO(&cores);
  sched_getaffinity(0, sizeof cores, &cores);
  std::string mine(sizeof host + sizeof cores, '\0');
  std::memcpy(mine.data(), host, sizeof host);
  std::memcpy(mine.data() + sizeof host, &cores, sizeof cores);
  LocalProcesses found{0, 0, 0};
  cpu_set_t together;
  CPU_ZERO(&together);
  const std::vector<std::string> all = gather_from_ranks(mine);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const std::string& text = all[rank];
    if (std::memcmp(text.data(), host, sizeof host) != 0) continue;
    if (static_cast<int>(rank) == transport->rank) found.number = found.processes;
    ++found.processes;
    std::memcpy(&cores, text.data() + sizeof host, sizeof cores);
    CPU_OR(&together, &together, &cores);
  }
  found.cores = std::max(1, CPU_COUNT(&together));
  return found;
}

void leave() {
  gpus.reset();
  why_no_gpus.reset();
  transport.reset();
  local = {};
}

// Why the GPUs of all ranks cannot join; empty if they can. Each rank says of itself: "gpu" and which, or "not" and why not.
std::string why_not_joined(const std::vector<std::string>& all) {
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank].starts_with("not")) return fmt::format("rank {}: {}", rank, all[rank].substr(3));
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    for (std::size_t before = 0; before < rank; ++before)
      if (all[before] == all[rank]) return fmt::format("ranks {} and {} share a GPU", before, rank);
  return "";
}

std::string what_joins() {
  if (!on_gpu()) return "notit computes on the CPU";
  if (const char* const asked = std::getenv("UNROLL_GPU_EXCHANGE")) {
    require_input(std::string_view(asked) == "host" || std::string_view(asked) == "nccl",
                  "UNROLL_GPU_EXCHANGE is '{}' in the environment: host or nccl", asked);
    if (std::string_view(asked) == "host") return "notUNROLL_GPU_EXCHANGE is 'host' in its environment";
  }
  const std::string why = why_no_gpu_transport();
  return why.empty() ? "gpu" + gpu_identity() : "not" + why;
}

// All ranks do it. Gives up if it fails or never ends: others may wait for ever.
template <class F>
void with_all_gpus(F begin) {
  try {
    begin();
    Wait wait;
    for (int rank = 0; rank < transport->count; ++rank)
      if (rank != transport->rank) wait.add_gpus(rank);
    wait.finish();
  } catch (...) {
    gpus.reset();
    throw;
  }
}

}  // namespace

int process_rank() { return transport && !alone_for_now ? transport->rank : 0; }
int process_count() { return transport && !alone_for_now ? transport->count : 1; }
std::string process_engine() { return process_count() > 1 ? transport->name : ""; }
std::string gpu_engine() { return process_count() > 1 && gpus ? gpus->name : ""; }
LocalProcesses local_processes() { return local; }

OtherRankFailed::OtherRankFailed(int rank, int code)
    : Error(fmt::format("rank {} has failed", rank)), rank(rank), code(code) {}

ProcessGroup::ProcessGroup() {
  require(!transport, "processes: another ProcessGroup is alive");
  const int count = launched();
  if (count <= 1) return;
  failed = gave_up = abandoned = false, code_to_tell = 0;
  transport = open_transport(count);
  of_group = std::this_thread::get_id();
  local = find_local();
}

ProcessGroup::~ProcessGroup() {
  if (!transport) return;
  try {
    if (std::uncaught_exceptions() > 0)
      fail(1);
    else if (!failed)
      finish();
    // Only now that the program has said why: once this process ends, mpirun ends the others.
    for (int other = 0; code_to_tell != 0 && other < transport->count; ++other)
      if (other != transport->rank) transport->send_word(other, code_to_tell);
  } catch (const Error&) {}  // another has failed, and says so
  leave();
}

void ProcessGroup::finish() {
  if (!transport) return;
  gather_from_ranks("");
  if (gpus) with_all_gpus([] { gpus->finish(); });
  transport->finish();
  leave();
}

bool ProcessGroup::fail(int code) {
  if (!transport || failed) return true;
  failed = true;
  const int rank = transport->rank;
  try {
    // If all have the same error, a lower rank's word is on its way.
    for (const double end = clock_seconds() + std::min(0.7 * rank, 3.0); clock_seconds() < end; usleep(1000))
      if (const auto word = transport->find_word(); word && word->from < rank) return false;
  } catch (const Error&) {}  // the others are gone already
  code_to_tell = code;
  return true;
}

AloneForNow::AloneForNow() {
  require(!alone_for_now, "processes: alone already");
  alone_for_now = true;
}
AloneForNow::~AloneForNow() { alone_for_now = false; }

void stop_if_another_failed() {
  if (process_count() > 1 && !failed) look_for_failure();
}

std::vector<std::string> gather_from_ranks(std::string_view mine) {
  if (process_count() == 1) return {std::string(mine)};
  const auto count = static_cast<std::size_t>(others().count);
  const uint64_t size = mine.size();
  std::vector<uint64_t> sizes(count);
  std::vector<std::string> texts(count);
  std::vector<std::span<std::byte>> blocks;
  for (uint64_t& s : sizes) blocks.push_back(std::as_writable_bytes(std::span(&s, 1)));
  gather_blocks(std::as_bytes(std::span(&size, 1)), blocks);
  for (std::size_t rank = 0; rank < count; ++rank) {
    texts[rank].resize(sizes[rank]);
    blocks[rank] = std::as_writable_bytes(std::span(texts[rank]));
  }
  gather_blocks(std::as_bytes(std::span(mine)), blocks);
  texts[static_cast<std::size_t>(transport->rank)] = mine;
  return texts;
}

std::string from_first_rank(std::string_view mine) {
  return std::move(gather_from_ranks(is_first_process() ? mine : "").front());
}

void exchange_blocks(std::span<const SentBlock> sent, std::span<const ReceivedBlock> received) {
  if (sent.empty() && received.empty()) return;
  Transport& with = others();
  Wait wait;
  for (const ReceivedBlock& block : received)
    wait.add(with.receive(block.from, block.data.data(), block.data.size()), block.from);
  for (const SentBlock& block : sent)
    wait.add(with.send(block.to, block.data.data(), block.data.size()), block.to);
  wait.finish();
}

bool can_exchange_beside() { return process_count() > 1 && transport->any_thread; }
void abandon_exchange() { abandoned = true; }

std::string join_gpus() {
  if (process_count() == 1) return "this process is alone";
  if (why_no_gpus) return *why_no_gpus;
  std::string why = why_not_joined(gather_from_ranks(what_joins()));
  if (why.empty()) {
    const std::string group = from_first_rank(is_first_process() ? new_gpu_group() : "");
    with_all_gpus([&] { gpus = open_gpu_transport(transport->rank, transport->count, group); });
  }
  return *(why_no_gpus = std::move(why));
}

void exchange_gpu_blocks(std::span<const SentBlock> sent, std::span<const ReceivedBlock> received) {
  if (sent.empty() && received.empty()) return;
  others();
  require(gpus != nullptr, "processes: their GPUs are not joined");
  with_all_gpus([&] { gpus->begin(sent, received); });
}

}  // namespace unroll
