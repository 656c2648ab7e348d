// Scores of rows that were called, against labelled events. A score that is not defined is NaN.
#pragma once

#include <cstdint>
#include <span>

namespace unroll {

// An event is a run of ones in `label`; it is found if one of its rows is called. Recall is the share of events
// found, precision the share of called rows that are labelled (composite F1: Garg, Zhang, Samaran, Savitha and Foo
// 2021). Calling every row finds all events at a low precision.
struct EventScores {
  int64_t events = 0, found = 0;  // runs of rows
  int64_t called = 0, right = 0;  // rows
  double precision = 0, recall = 0, f1 = 0;
};
EventScores score_events(std::span<const int> called, std::span<const int> label);

}  // namespace unroll
