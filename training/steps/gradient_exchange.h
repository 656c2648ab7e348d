// Sums a step's gradient over the shards of all processes of a training.
//
// Each process sums a piece of the slab. It gets that piece of every other's parts of the tree (shard_tree.h), sums them in
// the tree's order, and gives the sum to all. So each sends about as many bytes as in a ring, and unlike that of a ring, or of
// ncclAllReduce, the order of the sum depends on the number of shards alone. Blocks of GPUs that have joined (join_gpus) go from
// the memory of one to that of the other, else through the host's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "framework/parameters.h"
#include "training/steps/shard_tree.h"

namespace unroll {

// The slab of gradients is cut at the beginnings of parameters and from its end, since a backward finishes the last layers first.
// Processes exchange bucket by bucket in this order: some are on their way while others are still computed.
struct GradientBucket {
  int64_t begin = 0, size = 0;  // numbers of the slab
  std::vector<Parameter*> parameters = {};
};

// Each has at least so many bytes, but for the last. It depends on the parameters and that number alone.
std::vector<GradientBucket> gradient_buckets(const ParameterSet& params, std::size_t bytes);

// 1 MiB, or UNROLL_BUCKET_BYTES in the environment, which must be the same for all processes. Throws InputError.
std::size_t bytes_of_bucket();

std::vector<int64_t> sizes_of(const std::vector<GradientBucket>& buckets);  // numbers

// Bytes that each process gives others to sum buckets of so many numbers, and takes from them: sent[rank].
std::vector<int64_t> exchanged_bytes(std::span<const int64_t> buckets, int processes, int shards);

// How long such an exchange takes, tried: seconds. Called by all processes.
double seconds_of_exchange(std::span<const int64_t> buckets, int shards);

// "Open MPI 4.1.4", "NCCL 2.28.9", or "Open MPI 4.1.4, through the host's memory (…)": the library that gradients go
// over. Called by all processes of a training, once their device is chosen.
std::string exchanged_over();

// Whether the processes exchange while the last backward runs: on a CPU, if MPI lets a thread of ours call it, and UNROLL_OVERLAP
// in the environment is not "off". Throws InputError if that is neither "off" nor "on".
bool exchanges_beside_backward();

// A count of what went to other processes.
struct ExchangedGradients {
  int64_t bytes = 0;   // sent
  double seconds = 0;  // with the waiting for others, but for what a backward has hidden
};

class GradientExchange {
 public:
  explicit GradientExchange(int shards) : shards_(shards) {}
  // Called by all processes, for each bucket. `own`: this process's parts of the tree, in their order, of so many numbers each,
  // in the device's memory; the last becomes the sum over all. Returns the bytes that this process sent.
  int64_t sum(std::span<real* const> own, int64_t numbers);
  // Bytes of memory that it keeps from call to call. May be asked while another thread exchanges.
  int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  void count_bytes();
  template <class Memory>
  int64_t sum_in(Memory& received, std::span<real* const> own, int64_t numbers);

  struct OfHost;
  struct OfGpu;
  const int shards_;
  std::vector<std::vector<real>> received_, on_host_;  // of others; and of a GPU's, what is to be sent
  std::vector<Tensor> received_on_gpu_;
  std::atomic<int64_t> bytes_ = 0;
};

}  // namespace unroll
