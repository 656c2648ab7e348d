// Sums over the shards of a step, in a tree that depends on their number alone: so the sum has the same bits whether one
// process computed all shards or several shared them.
//
// The tree of n shards has at its root the sum of the first 2^k and of the rest, 2^k being the largest power of two below n;
// and so on down to single shards. Of 6:  ((0 + 1) + (2 + 3)) + (4 + 5).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "framework/parameters.h"
#include "training/shard.h"

namespace unroll {

// A part of the tree: the sum over shards begin … end-1.
struct ShardRange {
  int begin = 0, end = 0;
  bool operator==(const ShardRange&) const = default;
};
// Where the sum over n shards, n at least 2, is divided: the first so many, and the rest.
int shards_of_left_half(int n);
// Whether these shards are summed by themselves in the tree of `shards`.
bool is_summed_alone(const ShardRange& range, int shards);
// The fewest parts of the tree that these shards make up, in their order.
std::vector<ShardRange> parts_of(const ShardRange& range, int shards);

// The shards that the process of this rank computes; `processes` divides `shards`.
ShardRange shards_of_rank(int rank, int processes, int shards);

// The numbers of processes that can share so many shards: its divisors, ascending.
std::vector<int> processes_for(int shards);

// add(a, b): a += b, in the tree's order; a value for each shard. What is left in the first is the sum.
template <class T, class Add>
T sum_of_shards(std::span<T> values, Add add) {
  if (values.size() > 1) {
    const auto left = static_cast<std::size_t>(shards_of_left_half(static_cast<int>(values.size())));
    sum_of_shards(values.first(left), add);
    sum_of_shards(values.subspan(left), add);
    add(values[0], values[left]);
  }
  return values[0];
}

// Bytes that each process gives others to sum a slab of so many numbers, and takes from them: sent[rank].
std::vector<int64_t> exchanged_bytes(int64_t numbers, int processes, int shards);

// How long such an exchange of a slab takes, tried: seconds. Called by all processes.
double seconds_of_exchange(int64_t numbers, int shards);

// The gradients of this process's shards, one after the other, and then those of all. It takes a slab for each part of the tree
// that waits for its other half, at most log2(shards) at a time, and keeps them from step to step.
class GradientSums {
 public:
  GradientSums(ParameterSet& params, int shards);
  const ShardRange& mine() const& { return mine_; }
  ShardRange mine() const&& { return mine_; }
  // Before the first shard of a step. A step before that was given up is forgotten.
  void begin();
  // The next of this process's shards has its gradient in the parameters: it is taken into the sums. But for the last, the
  // parameters' gradients are spent.
  void add_shard();
  // After the last one: the parameters' gradient becomes the sum over all shards, of all processes.
  void finish();
  int64_t bytes() const;  // that it has taken
  // Of gradients, by this process since it began.
  struct Exchanged {
    int64_t bytes = 0;   // sent
    double seconds = 0;  // with the waiting for others
  };
  const Exchanged& exchanged() const& { return exchanged_; }
  Exchanged exchanged() const&& { return exchanged_; }

 private:
  struct Part {
    ShardRange range;
    Tensor sum;
  };
  bool joins_last(const ShardRange& range) const;
  void release_last();
  void exchange(std::span<real> slab);

  ParameterSet& params_;
  const int shards_;
  const ShardRange mine_;
  int next_;                   // shard
  std::vector<Part> waiting_;  // for its other half
  std::vector<Tensor> spare_;
  // Of an exchange: what others sent, and on a GPU what is to be sent.
  std::vector<std::vector<real>> received_, on_host_;
  Exchanged exchanged_;
};

}  // namespace unroll
