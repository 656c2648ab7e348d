// See event_scores.h.
#include "examples/timeseries/series/event_scores.h"

#include <limits>

#include "framework/check.h"

namespace unroll {

EventScores score_events(std::span<const int> called, std::span<const int> label) {
  require(called.size() == label.size(), "scores: {} rows that were called, and {} labels", called.size(),
          label.size());
  EventScores scores;
  for (std::size_t i = 0; i < label.size(); ++i) {
    scores.called += called[i], scores.right += called[i] * label[i];
    if (label[i] == 0 || (i > 0 && label[i - 1] == 1)) continue;
    ++scores.events;  // it begins here
    bool is_found = false;
    for (std::size_t k = i; k < label.size() && label[k] == 1; ++k) is_found = is_found || called[k] == 1;
    scores.found += is_found;
  }
  scores.precision = static_cast<double>(scores.right) / static_cast<double>(scores.called);
  scores.recall = static_cast<double>(scores.found) / static_cast<double>(scores.events);
  scores.f1 = scores.events == 0  ? std::numeric_limits<double>::quiet_NaN()
              : scores.found == 0 ? 0
                                  : 2 * scores.precision * scores.recall / (scores.precision + scores.recall);
  return scores;
}

}  // namespace unroll
