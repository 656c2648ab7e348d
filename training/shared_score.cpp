#include "training/shared_score.h"

#include <cstring>

#include "framework/check.h"
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
    const PartHead head{sum.total, sum.count, std::ssize(sum.further)};
    bytes.append(reinterpret_cast<const char*>(&head), sizeof head);
    bytes.append(reinterpret_cast<const char*>(sum.further.data()), sum.further.size() * sizeof(double));
  }
  return bytes;
}

ScoreSum sum_of_ranks(int64_t parts, std::span<const std::string> by_rank) {
  ScoreSum all;
  std::vector<std::size_t> at(by_rank.size());  // read so far, by rank
  for (int64_t part = 0; part < parts; ++part) {
    const std::size_t rank = static_cast<std::size_t>(part) % by_rank.size();
    const auto take = [&](void* to, std::size_t size) {
      require(by_rank[rank].size() - at[rank] >= size, "processes: the ranks do not score the same parts");
      if (size > 0) std::memcpy(to, by_rank[rank].data() + at[rank], size);
      at[rank] += size;
    };
    PartHead head;
    take(&head, sizeof head);
    ScoreSum sum{.total = head.total, .count = head.count};
    sum.further.resize(static_cast<std::size_t>(head.further));
    take(sum.further.data(), sum.further.size() * sizeof(double));
    add(all, sum);
  }
  return all;
}

ScoreSum shared_sum(const SharedScore& shared) {
  return sum_of_ranks(shared.parts, gather_from_ranks(sums_of_rank(shared)));
}

}  // namespace unroll
