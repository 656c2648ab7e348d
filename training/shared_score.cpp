#include "training/shared_score.h"

#include <iterator>

#include "framework/processes/processes.h"

namespace unroll {

static void add(ScoreSum& to, const ScoreSum& sum) {
  to.total += sum.total, to.count += sum.count;
  if (to.further.empty()) to.further.resize(sum.further.size());
  require(to.further.size() == sum.further.size(), "score: one part has {} further sums, another {}",
          to.further.size(), sum.further.size());
  for (std::size_t i = 0; i < sum.further.size(); ++i) to.further[i] += sum.further[i];
}

ScoreSum sum_of_parts(const SharedScore& shared) {
  ScoreSum all;
  for (int64_t part = 0; part < shared.parts; ++part) add(all, shared.sum(part));
  return all;
}

// A part's total, its count, and how many further sums follow.
struct PartHead {
  double total = 0;
  int64_t count = 0, further = 0;
};

std::string sums_of_rank(const SharedScore& shared) {
  std::string bytes;
  for (int64_t part = process_rank(); part < shared.parts; part += process_count()) {
    stop_if_another_failed();
    const ScoreSum sum = shared.sum(part);
    bytes += pack(PartHead{sum.total, sum.count, std::ssize(sum.further)});
    for (const double further : sum.further) bytes += pack(further);
  }
  return bytes;
}

ScoreSum sum_of_ranks(int64_t parts, std::span<const std::string> by_rank) {
  ScoreSum all;
  std::vector<std::string_view> left(by_rank.begin(), by_rank.end());
  for (int64_t part = 0; part < parts; ++part) {
    std::string_view& of_rank = left[static_cast<std::size_t>(part) % left.size()];
    const auto head = unpack<PartHead>(of_rank);
    ScoreSum sum{.total = head.total, .count = head.count};
    for (int64_t k = 0; k < head.further; ++k) sum.further.push_back(unpack<double>(of_rank));
    add(all, sum);
  }
  return all;
}

ScoreSum shared_sum(const SharedScore& shared) {
  return sum_of_ranks(shared.parts, gather_from_ranks(sums_of_rank(shared)));
}

}  // namespace unroll
