// Dynamic loss scaling for training in fp16: keeps small gradients from being rounded to 0.
//
// Half precision has nothing below 6e-8, and many gradients are smaller. So the backward pass starts from `scale`, a power of
// two, instead of 1, and the optimizer divides by it again. If it is too large, a gradient overflows. That step is skipped, its
// state goes on to the next window, since the forward pass was right, and the scale is halved. After many good steps it doubles.
//
// Method: Micikevicius et al. 2018, "Mixed Precision Training", section 3.2, and NVIDIA's guide "Train With Mixed
// Precision". Defaults are those of PyTorch's GradScaler; the largest scale is that of NVIDIA's Apex.
#pragma once

#include <algorithm>
#include <cstdint>

namespace unroll {

struct LossScale {
  static constexpr double least = 1, most = 0x1p24;  // between which the scale stays
  static constexpr int64_t steps_to_grow = 2000;     // good ones, after which it doubles

  double scale = 0x1p16;
  int64_t good_steps = 0;        // since the scale last changed
  int64_t skipped = 0;           // steps left out since training began …
  int64_t skipped_in_epoch = 0;  // … and in the present epoch

  // Call after a step with finite gradients.
  void succeeded() {
    if (++good_steps < steps_to_grow) return;
    scale = std::min(2 * scale, most);
    good_steps = 0;
  }
  // Call after a step with a gradient that is not finite. False if the scale is at its least already, so the cause lies
  // elsewhere.
  bool overflowed() {
    good_steps = 0;
    if (scale <= least) return false;
    scale /= 2;
    ++skipped, ++skipped_in_epoch;
    return true;
  }
};

}  // namespace unroll
