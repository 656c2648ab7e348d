// A decoder with its targets, and the gradients of a loss over it, for the suites of the losses.
#pragma once

#include <limits>

#include "framework/loss.h"
#include "tests/support.h"

namespace unroll {

inline constexpr double eps = std::numeric_limits<double>::epsilon();

// Targets of [rows] in `classes`, weights in [0.5, 1.5], some targets ignored.
struct Targets {
  Targets(const Shape& shape, int classes, uint64_t seed, int32_t ignore) : ids(shape), weights(shape) {
    RandomStream random(seed, "targets");
    for (int64_t r = 0; r < shape.size(); ++r) {
      ids.data()[r] = static_cast<int32_t>(random.below(static_cast<uint32_t>(classes)));
      if (r % 3 == 1) ids.data()[r] = ignore;
      weights.on_host(Access::change)[r] = 0.5 + random.uniform();
    }
  }
  IdTensor ids;
  Tensor weights;
};

// A decoder's weights and what goes into it.
struct Decoder {
  Decoder(int rows, int in, int classes) : target({rows}) {
    RandomStream random(17, "decoder");
    x = random_tensor({rows, in}, random), w = random_tensor({classes, in}, random),
    b = random_tensor({classes}, random);
    target = random_ids({rows}, random, static_cast<uint32_t>(classes));
  }
  Tensor x, w, b;
  IdTensor target;
};

struct Gradients {
  double loss;
  Tensor x, w, b;
};
// Gradients of what `f` makes of x, w and b.
template <class F>
Gradients gradients_of(const Decoder& d, F&& f) {
  Tape tape;
  const Var x = tape.watch(d.x), w = tape.watch(d.w), b = tape.watch(d.b);
  const Var loss = f(x, w, b);
  tape.backward(loss);
  return {loss.item(), x.grad().clone(), w.grad().clone(), b.grad().clone()};
}

}  // namespace unroll
