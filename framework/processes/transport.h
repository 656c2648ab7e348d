// Transport carries bytes from process to process: Open MPI (mpi.cpp), or nothing (no_mpi.cpp). GpuTransport does so
// between the memories of their GPUs: NCCL (nccl.cpp), or nothing (no_nccl.cpp).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "framework/processes/blocks.h"

namespace unroll {

// Nothing here waits: what was begun is looked at until it is done.
class Transport {
 public:
  virtual ~Transport() = default;
  int rank = 0, count = 1;  // this process, and how many there are
  bool any_thread = false;  // may call it, one at a time
  std::string name;

  // Begin to send or to receive a block; returns its number. The memory must stay until it is done.
  virtual int send(int to, const void* data, std::size_t bytes) = 0;
  virtual int receive(int from, void* data, std::size_t bytes) = 0;
  virtual bool is_done(int number) = 0;  // once it is, the number is free again

  // A word that others find beside all blocks: the exit code of a rank that has failed.
  virtual void send_word(int to, int word) = 0;
  // A word, and the rank that it is from.
  struct Word {
    int from, word;
  };
  virtual std::optional<Word> find_word() = 0;  // one that came; none: nobody sent any

  virtual void finish() = 0;  // of a process that has nothing more to exchange
};

// Joins the others that `launched` says there are. Throws InputError.
std::unique_ptr<Transport> open_transport(int launched);

// Serves the GPU that this process computes on; each rank has one of its own. Nothing here waits either, and
// is_done() throws Error if what was begun has failed.
class GpuTransport {
 public:
  virtual ~GpuTransport() = default;  // what goes on is given up: others may never answer
  std::string name;

  // Blocks of the GPU's memory, none of them empty, in the order of the kernels: all at once. Begun again only when done.
  virtual void begin(std::span<const SentBlock> sent, std::span<const ReceivedBlock> received) = 0;
  virtual bool is_done() = 0;  // what was begun; at first: that all have joined
  virtual void finish() = 0;   // begins to leave, where all do
};

// Names the GPU in use: alike for two processes on one, however they count theirs.
std::string gpu_identity();
// The name by which the ranks find each other: made by one of them.
std::string new_gpu_group();
// Begins to join the others of the group.
std::unique_ptr<GpuTransport> open_gpu_transport(int rank, int count, const std::string& group);

}  // namespace unroll
