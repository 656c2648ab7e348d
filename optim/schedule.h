// Schedules of the learning rate and of the momentum, and the trigger of averaging.
//
// Plain values: copy them, save their fields, put them back. Epochs and steps count from 0.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <optional>
#include <vector>

#include "framework/check.h"

namespace unroll {

struct Schedule {
  // The course of the rate.
  enum class Kind : uint8_t {
    constant,
    // learning_rate · factor^max(epoch + 1 - after, 0): the first `after` epochs at the full rate (Zaremba et
    // al. 2014, as in TensorFlow's ptb_word_lm.py).
    step,
    // Divided by `factor` whenever a validation loss is not below the best so far (PyTorch's example
    // word_language_model).
    plateau,
    // After the warm-up, half a cosine down to `final_rate` at step `total`, and `final_rate` from then on (Loshchilov
    // and Hutter 2017, without restarts).
    cosine,
    // Four straight lines: from `start_rate` at the first step up to `learning_rate`, down to `start_rate`, further
    // down to √(start_rate · final_rate), and on to `final_rate` at the last step. The momentum goes the other way:
    // from `high` down to `low`, back up to `high`, and stays there (Smith 2018; in four phases: Gugger and Howard
    // 2018).
    // PyTorch's OneCycleLR with three_phase and anneal_strategy "linear" has the last two lines in one: phases 1 : 1 :
    // 2k : k, start_rate = learning_rate / 4 and final_rate = learning_rate / 16.
    one_cycle
  };
  // The range, low to high, of SGD's momentum, or of Adam's beta1.
  struct Momentum {
    double low = 0.85, high = 0.95;
  };

  Kind kind = Kind::constant;  // the course of the rate
  double learning_rate = 1;    // the first one; for cosine and one_cycle the largest
  int after = 0;               // step: epochs
  double factor = 0.5;         // step: multiplies; plateau: divides
  // Any kind: the first optimizer steps have (step + 1) / (warmup + 1) of the rate that the kind says.
  int64_t warmup = 0;
  int64_t total = 0;      // cosine, one_cycle: optimizer steps of the whole training, warm-up included
  double final_rate = 0;  // cosine, one_cycle
  // one_cycle: the rate of the first step. The first phase is the warm-up.
  double start_rate = 0;
  std::array<double, 4> phases = {1, 5, 5, 1};  // lengths, relative to each other
  Momentum momentum = {};

  // State that a checkpoint keeps, learned from validation. Only the kind plateau uses it.
  double best = std::numeric_limits<double>::infinity();
  int divisions = 0;  // so far

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
    if (kind == Kind::one_cycle) check_cycle();
  }

  // The rate of optimizer step `step` in `epoch`.
  double rate(int epoch, int64_t step) const {
    // Without a total every step would get the final rate.
    if (kind == Kind::cosine || kind == Kind::one_cycle) check();
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
      case Kind::one_cycle:
        return on_cycle(
            step, {start_rate, learning_rate, start_rate, std::sqrt(start_rate * final_rate), final_rate});
    }
    return learning_rate;
  }
  // The momentum of optimizer step `step`; empty if the schedule does not change it.
  std::optional<double> momentum_at(int64_t step) const {
    if (kind != Kind::one_cycle) return {};
    const auto [low, high] = momentum;
    return on_cycle(step, {high, low, high, high, high});
  }

  // Takes a validation loss (or perplexity). True if it is the best so far; NaN never is.
  bool validated(double loss) {
    if (loss < best) return best = loss, true;
    if (kind == Kind::plateau) ++divisions;
    return false;
  }

 private:
  void check_cycle() const {
    require_input(total > 0, "schedule: total = {} steps must be at least 1", total);
    require_input(warmup == 0, "schedule: warmup = {} steps, and the first phase of a cycle is one already",
                  warmup);
    require_input(final_rate >= 0 && final_rate <= start_rate && start_rate <= learning_rate,
                  "schedule: final_rate {}, start_rate {} and learning_rate {} must ascend from 0",
                  final_rate, start_rate, learning_rate);
    for (const double phase : phases)
      require_input(phase > 0 && std::isfinite(phase), "schedule: a phase of length {} is none", phase);
    require_input(momentum.low >= 0 && momentum.low <= momentum.high && momentum.high < 1,
                  "schedule: a momentum from {} to {} must ascend in [0, 1)", momentum.low, momentum.high);
  }
  // A line through these values: at the first step, at each border between phases, and at the last step.
  double on_cycle(int64_t step, const std::array<double, 5>& values) const {
    if (step + 1 >= total) return total > 1 ? values.back() : values.front();
    double whole = 0;
    for (const double phase : phases) whole += phase;
    double left = whole * static_cast<double>(step) / static_cast<double>(total - 1);
    size_t k = 0;
    for (; k + 1 < phases.size() && left > phases[k]; ++k) left -= phases[k];
    return values[k] + (values[k + 1] - values[k]) * std::min(left / phases[k], 1.0);
  }
};

// When to start averaging (NT-ASGD: Merity, Keskar, Socher 2018; with the condition of their awd-lstm-lm): as soon as a
// validation loss is above the best of those before the last `patience`.
struct NonMonotoneTrigger {
  int patience = 5;
  std::vector<double> history = {};  // the losses so far: the state

  // Takes a validation loss. True if averaging is to start now. Do not call it again after that.
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
