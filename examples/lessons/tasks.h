// Tasks that are made of random numbers: bits to count or to remember, and sums.
#pragma once

#include "framework/random.h"
#include "framework/tensor.h"

namespace lessons {

struct TaskBatch {
  TaskBatch(int steps, int batch, int numbers)
      : x({steps, batch, numbers}), target(unroll::Tensor::zeros({batch, 1})) {}
  unroll::Tensor x, target;  // [steps, batch, numbers] and [batch, 1]
};
// Equal numbers give equal random streams.
inline unroll::RandomStream random_of(int number, const char* task) {
  return {static_cast<uint64_t>(number) + 1, task};
}

// Rows of bits, 0 or 1. The target at the end is the number of ones or, if first_only, the first bit.
struct BitTask {
  int steps;
  bool first_only;
  int batch = 32;

  TaskBatch draw(int number) const {
    using namespace unroll;
    RandomStream random = random_of(number, "bits");
    TaskBatch result(steps, batch, 1);
    const auto x = result.x.on_host(Access::overwrite), target = result.target.on_host(Access::change);
    for (int t = 0; t < steps; ++t)
      for (int i = 0; i < batch; ++i) {
        const real bit = random.below(2) ? real(1) : real(0);
        x[t * batch + i] = bit;
        if (!first_only || t == 0) target[i] += bit;
      }
    return result;
  }
  // The mean squared error of the best guess without reading: the variance of a bit is 1/4.
  double guess() const { return first_only ? 0.25 : 0.25 * steps; }
};

// The adding problem (Hochreiter and Schmidhuber 1997): rows of numbers in [0, 1). Two are marked, none among the last
// `quiet` ones. The target at the end is their sum.
struct AddingTask {
  int steps;
  int quiet = 6;
  int batch = 32;

  TaskBatch draw(int number) const {
    using namespace unroll;
    RandomStream random = random_of(number, "sums");
    TaskBatch result(steps, batch, 2);
    const auto x = result.x.on_host(Access::overwrite), target = result.target.on_host(Access::change);
    const auto half = static_cast<uint32_t>((steps - quiet) / 2);
    for (int i = 0; i < batch; ++i) {
      const auto first = static_cast<int>(random.below(half)),
                 second = static_cast<int>(half + random.below(half));
      for (int t = 0; t < steps; ++t) {
        const int at = (t * batch + i) * 2;
        x[at] = static_cast<real>(random.uniform());
        x[at + 1] = t == first || t == second ? real(1) : real(0);
        if (x[at + 1] == 1) target[i] += x[at];
      }
    }
    return result;
  }
  double guess() const { return 1.0 / 6; }  // of the sum of two such numbers: always 1
};

}  // namespace lessons
