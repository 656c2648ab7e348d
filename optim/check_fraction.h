// A setting of an optimizer that is a share of what was: the decay of a mean, a momentum.
#pragma once

#include "framework/check.h"
#include "framework/real.h"

namespace unroll {

// Throws Error unless it is in [0, 1), also as a real.
inline void check_fraction(const char* name, double value) {
  require(value >= 0 && static_cast<real>(value) < 1, "optimizer: {} {} is not in [0, 1){}", name, value,
          value < 1 ? ": it rounds to 1" : "");
}

}  // namespace unroll
