// Adversarial softmax: the row of the decoder that belongs to the target gets the worst change of length alpha times its
// own (Wang, Gong and Liu 2019, "Improving neural language modeling via adversarial training"). Training only.
//
//   CrossEntropyOptions options;
//   options.margins = adversarial_margins(decoder, y, target, 0.005);
//   Var loss = softmax_cross_entropy(decoder, y, target, options);
#pragma once

#include "layers/dense.h"

namespace unroll {

// The change takes alpha ‖w_t‖ ‖y‖ from the target's logit w_t y + b_t, where w_t and y point the same way:
//   margin = alpha ‖w_t‖ ‖y‖ if w_t y > 0, else 0        dmargin/dy = alpha ‖w_t‖ y / ‖y‖
// The change is a constant to the gradient, so w_t gets none. y [..., in], target [...], -1 where nothing is scored ->
// [...]. Requires: alpha >= 0.
Var adversarial_margins(const Dense& decoder, const Var& y, const IdTensor& target, real alpha);

}  // namespace unroll
