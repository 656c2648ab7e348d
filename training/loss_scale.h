// Dynamic loss scaling, for training in fp16: what keeps small gradients from being rounded to 0.
//
// Half precision has nothing below 6e-8, and many gradients are smaller. So the backward pass starts from `scale` in place of
// 1, which multiplies every gradient, and the optimizer divides it out again; being a power of two, it rounds
// nothing. If it was too large, a gradient overflows. Such a step is left out: weights and optimizer stay as they
// were, the state goes on to the next window, since the forward pass was right, and the scale is halved. After many
// good steps in a row it doubles.
//
// The method: Micikevicius et al. 2018, "Mixed Precision Training", section 3.2, and NVIDIA's guide "Train With Mixed
// Precision". Its numbers are the defaults of PyTorch's GradScaler, and the largest scale that of NVIDIA's Apex.
#pragma once

#include <algorithm>
#include <cstdint>

namespace unroll {

struct LossScale {
  static constexpr double least = 1, most = 0x1p24;
  static constexpr int64_t steps_to_grow = 2000;

  double scale = 0x1p16;
  int64_t good_steps = 0;        // since the scale last changed
  int64_t skipped = 0;           // steps left out since training began …
  int64_t skipped_in_epoch = 0;  // … and in the present epoch

  // After a step whose gradient was finite.
  void succeeded() {
    if (++good_steps < steps_to_grow) return;
    scale = std::min(2 * scale, most);
    good_steps = 0;
  }
  // After one whose gradient was not. False if it is not the scale's fault, which is as small as may be.
  bool overflowed() {
    good_steps = 0;
    if (scale <= least) return false;
    scale /= 2;
    ++skipped, ++skipped_in_epoch;
    return true;
  }
};

}  // namespace unroll
