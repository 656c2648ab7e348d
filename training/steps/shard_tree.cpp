#include "training/steps/shard_tree.h"

#include "framework/check.h"

namespace unroll {

bool is_summed_alone(const ShardRange& range, int shards) {
  ShardRange within{0, shards};
  while (within.end - within.begin > 1 && within != range) {
    const int middle = within.begin + shards_of_left_half(within.end - within.begin);
    (range.end <= middle ? within.end : within.begin) = middle;
  }
  return within == range;
}

std::vector<ShardRange> parts_of(const ShardRange& range, int shards) {
  std::vector<ShardRange> parts;
  for (int begin = range.begin; begin < range.end;) {
    int end = range.end;
    while (!is_summed_alone({begin, end}, shards)) --end;
    parts.push_back({begin, end});
    begin = end;
  }
  return parts;
}

ShardRange shards_of_rank(int rank, int processes, int shards) {
  require(shards % processes == 0, "shards: {} processes cannot share {}", processes, shards);
  const int each = shards / processes;
  return {rank * each, (rank + 1) * each};
}

std::vector<int> processes_for(int shards) {
  std::vector<int> counts;
  for (int count = 1; count <= shards; ++count)
    if (shards % count == 0) counts.push_back(count);
  return counts;
}

}  // namespace unroll
