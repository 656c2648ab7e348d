// Shards, and the tree in which those of a step are summed. It depends on their number alone: so a sum has the same bits whether
// one process computed all shards or several shared them.
//
// The tree of n shards has at its root the sum of the first 2^k and of the rest, 2^k being the largest power of two below n;
// and so on down to single shards. For 6:  ((0 + 1) + (2 + 3)) + (4 + 5).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>
#include <vector>

namespace unroll {

// A fixed part of each window's streams, or of a batch's windows of a series, whose gradient is computed by itself. How many
// there are belongs to the training; how many processes share them does not (docs/processes.md).
struct Shard {
  int number = 0, of = 1;  // shard 0 … of-1

  // The shard has rows begin(rows) … end(rows)-1 of so many streams or windows side by side. They are cut as evenly as possible,
  // the first shards one larger; if there are fewer rows than shards, the last shards have none.
  int begin(int rows) const { return number * (rows / of) + std::min(number, rows % of); }
  int end(int rows) const { return Shard{number + 1, of}.begin(rows); }
};

// A part of the tree: the sum over shards begin … end-1.
struct ShardRange {
  int begin = 0, end = 0;
  bool operator==(const ShardRange&) const = default;
};
// The number of shards in the left half of a sum over n shards, n at least 2.
inline int shards_of_left_half(int n) {
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(n - 1)));
}
// Whether these shards are summed by themselves in the tree of `shards`.
bool is_summed_alone(const ShardRange& range, int shards);
// The fewest parts of the tree that these shards make up, in their order.
std::vector<ShardRange> parts_of(const ShardRange& range, int shards);

// The shards that the process of this rank computes; `processes` divides `shards`.
ShardRange shards_of_rank(int rank, int processes, int shards);

// The numbers of processes that can share so many shards: its divisors, ascending.
std::vector<int> processes_for(int shards);

// add(a, b): a += b, in the tree's order; a value for each shard. The first one becomes the sum.
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

}  // namespace unroll
