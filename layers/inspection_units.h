// Which single units tell a property of what was read, and whether a model agrees with a subject's number.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "layers/inspection.h"

namespace unroll {

// A unit as a classifier: `share` of the cases lie on the right side of the threshold, where both classes count as much as each
// other; so 0.5 is chance. Of a number instead of a class: |correlation|.
struct UnitTells {
  int layer = 0, unit = 0;
  double share = 0;
  double threshold = 0;     // of a class
  bool above_is_1 = false;  // of a class; of a number: it rises with it
};

// values: by layer [cases, units]. labels: 0 or 1 by case; others are left out. At most `count` units, those that tell it best,
// the best first; of equals the first. Empty where one of the classes is missing.
std::vector<UnitTells> units_that_tell(const std::vector<Tensor>& values, std::span<const int> labels,
                                       int count);
// The same for a number: Pearson's correlation; cases that are not finite are left out. Empty where the number is always the
// same.
std::vector<UnitTells> units_that_follow(const std::vector<Tensor>& values, std::span<const double> numbers,
                                         int count);

// A verb to choose: the words before it, and its two forms.
struct AgreementCase {
  std::vector<int32_t> before;  // from <eos>, which begins the sentence
  int32_t right = 0, wrong = 0;
  int attractors = 0;  // nouns of the other number between subject and verb
  bool plural = false;
  bool of_main = false;  // a verb of the sentence's single main clause
};
struct Agreement {
  std::vector<double> p_right;  // by case: p(right) / (p(right) + p(wrong))
  // By layer, the state before the verb [cases, units]: of c, where the cell has it, and else of h.
  std::vector<Tensor> states;
};
// Reads the cases side by side, `at_once` of them. Throws Error if there are none.
Agreement measure_agreement(const TokenModel& model, std::span<const AgreementCase> cases, int at_once = 64);

// The interval of a share with a coverage of 95 % (Wilson 1927): it holds the share, and lies within 0 and 1.
struct Interval {
  double low, high;
};
Interval interval_of_share(int64_t hits, int64_t cases);

}  // namespace unroll
