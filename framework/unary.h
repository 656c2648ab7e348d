// The functions of one element, by name.
#pragma once

#include <cstdint>

#include "framework/real.h"

namespace unroll::inline UNROLL_REAL {

// Formulas and slopes stand in kernels/pointwise.h.
enum class Unary : uint8_t {
  exp,
  log,
  sqrt,
  sigmoid,
  tanh,
  relu,
  hard_sigmoid,  // x/6 + 1/2 between 0 and 1
  hard_tanh,     // x between -1 and 1
  softsign       // x / (1 + |x|)
};

}  // namespace unroll::inline UNROLL_REAL
