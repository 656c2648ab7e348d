// The processes of one training: those that `mpirun` started together, or this one alone.
//
//   int main() {
//     const ProcessGroup group;   // joins them; of a process that was started alone it does nothing
//     …                           // TrainerOptions::shards says what is shared
//   }
//
// Each has a rank, from 0. Rank 0 prints and writes. Ranks exchange over MPI, which is looked for only if the
// environment says that several were started: a program alone starts as fast as without. GPUs exchange over NCCL if
// each rank has one of its own. MPI starts it, and carries all that is the host's.
//
// A wait for other ranks sleeps between looks, so it leaves its core to others. It ends with OtherRankFailed once one of them
// has failed (ProcessGroup::fail), and with Interrupted if a signal has come and the others do not answer for five seconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/check.h"
#include "framework/processes/blocks.h"

namespace unroll {

int process_rank();                                             // of this process
int process_count();                                            // 1: it is alone
inline bool is_first_process() { return process_rank() == 0; }  // it prints and writes
// "Open MPI 4.1.4"; "" of a process that is alone.
std::string process_engine();
// local_processes: how many processes compute on this machine, the number of this one, from 0, and the cores that they may use
// together.
struct LocalProcesses {
  int processes = 1, number = 0, cores = 1;
};
LocalProcesses local_processes();

// Another rank has failed, and says why itself: there is nothing to print.
struct OtherRankFailed : Error {
  OtherRankFailed(int rank, int code);
  int rank, code;  // the code that it exits with
};

// Joins the processes that were started together, for as long as it lives. One at a time.
class ProcessGroup {
 public:
  // Throws InputError where several were started and cannot be joined: a build without MPI, or another MPI's mpirun.
  ProcessGroup();
  // finish(), unless an error has ended it: of this rank (fail(), or an exception), or of another.
  ~ProcessGroup();
  ProcessGroup& operator=(ProcessGroup&&) = delete;

  // Waits until all are through. Then nothing can be exchanged.
  void finish();
  // This process ends with that exit code, on account of an error. Returns whether it is to say why: among ranks that
  // fail at the same time only the lowest does. The others are told, and end too, when the group ends. Nothing can be
  // exchanged any more.
  bool fail(int code);
};

// While it lives this process seems to be alone, and rank 0, and there is nothing to exchange. It is for work that is
// not shared: rank 0 does it and the others wait, or each rank does a part of its own.
class AloneForNow {
 public:
  AloneForNow();
  ~AloneForNow();
  AloneForNow& operator=(AloneForNow&&) = delete;
};

// --- what ranks give each other: every rank calls the same, in the same order ---------------------------------

// For work between exchanges: throws OtherRankFailed if another rank has failed.
void stop_if_another_failed();

// The bytes that each rank gives, by rank.
std::vector<std::string> gather_from_ranks(std::string_view mine);
// Rank 0's bytes, for every rank; what the others give does not matter.
std::string from_first_rank(std::string_view mine);
// Rank 0's answer, for every rank: rank 0 alone calls ask().
template <class F>
bool asked_of_first_rank(F ask) {
  return from_first_rank(is_first_process() && ask() ? "1" : "") == "1";
}

// Blocks of memory between two ranks. For each block that one sends the other receives one of the same size, in the
// same order.
void exchange_blocks(std::span<const SentBlock> sent, std::span<const ReceivedBlock> received);

// Whether a thread may exchange while another, which exchanges nothing then, computes.
bool can_exchange_beside();
// Ends the exchange that waits on such a thread with Error: this process has failed. Nothing can be exchanged any more.
void abandon_exchange();

// Lets blocks of GPUs' memory go from one to the other over NCCL, without the host. Call it once all ranks have
// chosen their devices. Returns "", or why it cannot be, for the first rank that cannot: the build or the machine
// lacks NCCL, two ranks share a GPU, the environment says UNROLL_GPU_EXCHANGE=host. Later calls return the same.
// Throws Error if NCCL fails.
std::string join_gpus();
std::string why_no_gpu_transport();  // of this build and machine; "" if there is nothing to say
std::string gpu_engine();            // "NCCL 2.28.9"; "" where they are not joined
// As exchange_blocks(), for blocks of the GPU's memory. It begins after the kernels that were asked for, and returns
// when it is done.
void exchange_gpu_blocks(std::span<const SentBlock> sent, std::span<const ReceivedBlock> received);

}  // namespace unroll
