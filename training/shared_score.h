// A score that processes share. It is a sum over parts; a process computes some of them, and they are added in the order of the
// parts. The parts do not depend on the number of processes, so neither do the bits.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace unroll {

struct ScoreSum {
  double total = 0;
  int64_t count = 0;
  std::vector<double> further = {};  // sums of the score's own, of each part as many
};

struct SharedScore {
  int64_t parts = 0;
  std::function<ScoreSum(int64_t part)> sum = {};     // part: 0 … parts-1
  std::function<double(const ScoreSum&)> score = {};  // of the sum over all parts
};

// By this process alone.
ScoreSum sum_of_parts(const SharedScore& shared);

// The sums of this process's parts: its rank, and every process_count()-th from there.
std::string sums_of_rank(const SharedScore& shared);
// The sum over all parts, from what each rank has found.
ScoreSum sum_of_ranks(int64_t parts, std::span<const std::string> by_rank);

// Over all parts, shared by the processes; called by all. Throws OtherRankFailed where one of them fails meanwhile.
ScoreSum shared_sum(const SharedScore& shared);

}  // namespace unroll
