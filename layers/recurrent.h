// What recurrent layers share beside their cells: rows of different lengths, and the masks of a window.
#pragma once

#include "framework/ops.h"

namespace unroll::inline UNROLL_REAL {

// Which steps of the rows of a padded batch are real.
enum class Padding : uint8_t { after, before };
struct Lengths {
  IdTensor steps = {};  // [batch], each from 0 to the steps of x; undefined: all are real
  Padding padding = Padding::after;

  Lengths backwards() const {  // of x with its steps in reverse order
    return {steps, padding == Padding::after ? Padding::before : Padding::after};
  }
};

// What acts on one layer in one window beside its weights, drawn once for whichever engine. What is
// undefined, or has rate 0, does not act.
struct RecurrentMasks {
  struct Drop {
    float rate = 0;
    RandomKey key = {};
  };
  Tensor h = {};  // [batch, hidden]: factors of h_{t-1} in the recurrent product
  Drop weight_hh = {};
  // [steps, batch, hidden]: the state is u·(what the step computed) + (1-u)·(the state before).
  Tensor new_h = {}, new_c = {};
};

}  // namespace unroll::inline UNROLL_REAL
