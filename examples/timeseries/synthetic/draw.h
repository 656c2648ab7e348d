// Random numbers in the forms that priors of generators need.
//
// A compiler may evaluate the operands of an expression and the arguments of a call in any order. So at most one of them draws.
#pragma once

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "framework/random.h"

namespace unroll::synthetic {

// A prior: the logarithm is uniform between these; 0 < low ≤ high.
struct Range {
  double low = 1, high = 1;
};

class Draw {
 public:
  explicit Draw(const RandomStream& random) : random_(random) {}

  double uniform(double low = 0, double high = 1) { return low + (high - low) * random_.uniform(); }
  double of(Range range) { return std::exp(uniform(std::log(range.low), std::log(range.high))); }
  bool chance(double probability) { return random_.uniform() < probability; }
  int between(int low, int high) {
    return low + static_cast<int>(random_.below(high - low + 1));
  }  // with both
  double normal(double sd = 1) { return sd * random_.normal(); }
  double sign() { return chance(0.5) ? 1 : -1; }
  // One of the items, with a probability in proportion to weight(item).
  template <class Items, class Weight>
  const auto& weighted(const Items& items, const Weight& weight) {
    double left = 0;
    for (const auto& item : items) left += weight(item);
    left *= random_.uniform();
    auto chosen = items.begin();
    for (auto item = items.begin(); item != items.end() && left >= 0; ++item)
      if (weight(*item) > 0) chosen = item, left -= weight(*item);
    return *chosen;
  }
  template <class T>
  T choose(std::initializer_list<std::pair<T, double>> items) {
    return weighted(items, [](const auto& item) { return item.second; }).first;
  }

  double exponential() { return -std::log(1 - random_.uniform()); }  // mean 1
  double gamma(double shape);                                        // scale 1
  double student(double freedom);                                    // variance 1; freedom > 2
  double poisson(double mean);    // beyond a mean of 60: a rounded normal number
  int geometric(double success);  // 1, 2, …: trials up to the first success; at most a million

 private:
  RandomStream random_;
};

}  // namespace unroll::synthetic
