// Finds single units that tell a property of the text, and measures whether a model agrees with a subject's number.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "layers/inspection.h"

namespace unroll {

// A unit as a classifier. `share` is the share of cases on the right side of the threshold, with both classes weighted
// equally, so chance is 0.5. If a number is predicted instead of a class, `share` is |correlation|.
struct UnitTells {
  int layer = 0, unit = 0;
  double share = 0;
  double threshold = 0;     // classes only
  bool above_is_1 = false;  // for a number: it rises with the unit
};

// Returns the `count` units that tell the labels best, best first; ties keep their order. values: by layer [cases,
// units]. labels: 0 or 1 by case; cases with other labels are ignored. Empty if a class is missing.
std::vector<UnitTells> units_that_tell(const std::vector<Tensor>& values, std::span<const int> labels,
                                       int count);
// As above, for a number, by Pearson's correlation. Ignores cases that are not finite. Empty if the number is constant.
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
  // By layer, the state before the verb [cases, units]: c if the cell has it, else h.
  std::vector<Tensor> states;
};
// Reads `at_once` cases side by side. Throws Error if there are none.
Agreement measure_agreement(const TokenModel& model, std::span<const AgreementCase> cases, int at_once = 64);

// Wilson's 95 % interval of a share (1927). It contains the share and lies within 0 and 1.
struct Interval {
  double low, high;
};
Interval interval_of_share(int64_t hits, int64_t cases);

}  // namespace unroll
