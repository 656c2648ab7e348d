#include "training/shared_score.h"

#include <cstring>

#include "framework/check.h"
#include "framework/processes/processes.h"

namespace unroll {

ScoreSum sum_of_parts(const SharedScore& shared) {
  ScoreSum all;
  for (int64_t part = 0; part < shared.parts; ++part) {
    const ScoreSum sum = shared.sum(part);
    all.total += sum.total, all.count += sum.count;
  }
  return all;
}

std::string sums_of_rank(const SharedScore& shared) {
  std::string bytes;
  for (int64_t part = process_rank(); part < shared.parts; part += process_count()) {
    stop_if_another_failed();
    const ScoreSum sum = shared.sum(part);
    bytes.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  }
  return bytes;
}

ScoreSum sum_of_ranks(int64_t parts, std::span<const std::string> by_rank) {
  ScoreSum all;
  const int64_t ranks = std::ssize(by_rank);
  for (int64_t part = 0; part < parts; ++part) {
    const std::string& bytes = by_rank[static_cast<std::size_t>(part % ranks)];
    const std::size_t at = static_cast<std::size_t>(part / ranks) * sizeof(ScoreSum);
    require(bytes.size() >= at + sizeof(ScoreSum), "processes: the ranks do not score the same parts");
    ScoreSum sum;
    std::memcpy(&sum, bytes.data() + at, sizeof sum);
    all.total += sum.total, all.count += sum.count;
  }
  return all;
}

ScoreSum shared_sum(const SharedScore& shared) {
  return sum_of_ranks(shared.parts, gather_from_ranks(sums_of_rank(shared)));
}

}  // namespace unroll
