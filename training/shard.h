// A shard: a fixed part of each window's streams, or of a batch's windows of a series, whose gradient is computed by itself.
// How many there are belongs to the training; how many processes share them does not (docs/processes.md).
#pragma once

#include <algorithm>

namespace unroll {

struct Shard {
  int number = 0, of = 1;  // shard 0 … of-1

  // The shard has rows begin(rows) … end(rows)-1 of so many streams or windows side by side. They are cut as evenly as possible,
  // the first shards one larger; if there are fewer rows than shards, the last shards have none.
  int begin(int rows) const { return number * (rows / of) + std::min(number, rows % of); }
  int end(int rows) const { return Shard{number + 1, of}.begin(rows); }
};

}  // namespace unroll
