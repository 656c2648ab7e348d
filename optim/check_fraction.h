// Check for settings that are a share of the past: the decay of a mean, a momentum.
#pragma once

#include "framework/check.h"
#include "framework/real.h"

namespace unroll {

// Throws Error unless `value` is in [0, 1), also after rounding to real.
inline void check_fraction(const char* name, double value) {
  require(value >= 0 && static_cast<real>(value) < 1, "optimizer: {} {} is not in [0, 1){}", name, value,
          value < 1 ? ": it rounds to 1" : "");
}

}  // namespace unroll
