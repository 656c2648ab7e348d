// The course of training: the learning rate's schedule, and the trigger of averaging.
//
// Plain values: copy them, save their fields, put them back. Epochs and steps count from 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

#include "framework/check.h"

namespace unroll {

struct Schedule {
  enum class Kind : uint8_t {
    constant,
    // learning_rate · factor^max(epoch + 1 - after, 0): the first `after` epochs at the full rate (Zaremba et
    // al. 2014, as in TensorFlow's ptb_word_lm.py).
    step,
    // Divided by `factor` whenever a validation loss is not below the best so far (PyTorch's example
    // word_language_model).
    plateau,
    // After the warm-up half a cosine down to `final_rate` at step `total`, and `final_rate` from there on (Loshchilov
    // and Hutter 2017, without restarts).
    cosine
  };

  Kind kind = Kind::constant;
  double learning_rate = 1;  // the first one; for cosine the largest
  int after = 0;             // step: epochs
  double factor = 0.5;       // step: multiplies; plateau: divides
  // Any kind: optimizer steps on the way to the rate that it says, of which they have (step + 1) / (warmup + 1).
  int64_t warmup = 0;
  int64_t total = 0;      // cosine: optimizer steps of the whole training, warm-up included
  double final_rate = 0;  // cosine

  // The state that a checkpoint keeps, learned from validation. The other kinds leave it alone.
  double best = std::numeric_limits<double>::infinity();
  int divisions = 0;

  // Throws InputError, naming the field, unless the numbers above describe a schedule.
  void check() const {
    require_input(learning_rate >= 0 && std::isfinite(learning_rate),
                  "schedule: learning_rate {} is not a number from 0 up", learning_rate);
    require_input(warmup >= 0, "schedule: warmup = {} steps is negative", warmup);
    if (kind == Kind::step) require_input(after >= 0, "schedule: after = {} epochs is negative", after);
    if (kind == Kind::step)
      require_input(factor > 0 && factor <= 1, "schedule: factor {} is not in (0, 1]", factor);
    if (kind == Kind::plateau)
      require_input(factor >= 1 && std::isfinite(factor),
                    "schedule: plateau divides by factor, which must be at least 1, not {}", factor);
    if (kind == Kind::cosine) {
      require_input(total > warmup, "schedule: total = {} steps must be more than warmup = {}", total,
                    warmup);
      require_input(final_rate >= 0 && final_rate <= learning_rate,
                    "schedule: final_rate {} is not between 0 and learning_rate {}", final_rate,
                    learning_rate);
    }
  }

  // The rate of the optimizer step `step`, which is in `epoch`.
  double rate(int epoch, int64_t step) const {
    if (kind == Kind::cosine) check();  // without a total the rate would be that of the end from the start
    const double full = full_rate(epoch, step);
    return step < warmup ? full * static_cast<double>(step + 1) / static_cast<double>(warmup + 1) : full;
  }
  // Without a warm-up.
  double full_rate(int epoch, int64_t step) const {
    switch (kind) {
      case Kind::constant:
        break;
      case Kind::step:
        return learning_rate * std::pow(factor, std::max(epoch + 1 - after, 0));
      case Kind::plateau:
        return learning_rate / std::pow(factor, divisions);
      case Kind::cosine: {
        if (step < warmup) break;
        if (step >= total) return final_rate;
        const double done = static_cast<double>(step - warmup) / static_cast<double>(total - warmup);
        return final_rate + (learning_rate - final_rate) * 0.5 * (1 + std::cos(std::numbers::pi * done));
      }
    }
    return learning_rate;
  }

  // Takes a validation loss (or perplexity). True if it is the best so far; NaN never is.
  bool validated(double loss) {
    if (loss < best) return best = loss, true;
    if (kind == Kind::plateau) ++divisions;
    return false;
  }
};

// When to start averaging (NT-ASGD: Merity, Keskar, Socher 2018; the condition is that of their awd-lstm-lm):
// as soon as a validation loss is above the best of those before the last `patience`.
struct NonMonotoneTrigger {
  int patience = 5;
  std::vector<double> history = {};  // the losses so far: the state

  // Takes a validation loss; true if averaging is to start now. Not to be asked again after that.
  bool operator()(double loss) {
    require(patience >= 0, "non-monotone trigger: patience {} is negative", patience);
    const auto looked_at = std::max<int64_t>(std::ssize(history) - patience, 0);
    const auto best = std::min_element(history.begin(), history.begin() + looked_at);
    const bool now = looked_at > 0 && loss > *best;
    history.push_back(loss);
    return now;
  }
};

}  // namespace unroll
