// The words of a text that a model expected least.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "examples/ptb/model/model.h"

namespace ptb {

struct Surprise {
  double bits;
  int32_t word, expected;       // what came, and what was likeliest …
  double p_expected;            // … and how likely
  std::vector<int32_t> before;  // the words before it in its sentence, `most_before` of them at most
};
constexpr size_t most_before = 16;

// The `count` words with the most bits, in descending order; of equals the earlier in its stream comes first. Throws
// Interrupted after a signal.
std::vector<Surprise> most_surprising(const LanguageModel& model, const ScoredText& text, int count);

}  // namespace ptb
