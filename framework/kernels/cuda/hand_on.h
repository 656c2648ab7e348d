// Hands one element of a state on from one step to the next (HandOn in kernels.h), for the kernels of cells.
#pragma once

#include "framework/kernels/cuda/launch.h"
#include "framework/kernels/cuda/rounded.h"

namespace unroll::cuda {

// An element of a state on its way: as the step leaves it, as the next step meets it, and as it enters that step's product.
struct HandedElement {
  real state, met, entering;
};

// Element `at` of [batch, width], as the step computed it -> what becomes of it. Nothing is written.
UNROLL_KERNEL inline HandedElement hand_element(const HandOn& on, int64_t at, int64_t width, real computed) {
  const real state = on.share ? on.share[at] * computed + (1 - on.share[at]) * on.before[at] : computed;
  const real met = on.kept && on.kept[quotient(at, width)] == 0 ? 0 : state;
  return {state, met, on.mask ? met * on.mask[at] : met};
}
// Puts it where the next step reads it. The caller puts the state where it belongs.
UNROLL_KERNEL inline void put(const HandOn& on, int64_t at, const HandedElement& x) {
  if (on.met) on.met[at] = x.met;
  if (on.entering) on.entering[at] = x.entering;
  put_rounded(on.rounded, at, x.entering);
}
// Both at once -> the state.
UNROLL_KERNEL inline real handed_on(const HandOn& on, int64_t at, int64_t width, real computed) {
  const HandedElement x = hand_element(on, at, width, computed);
  put(on, at, x);
  return x.state;
}

// d of what enters the next step's product, and d of y, which the state is, too -> d of what this step computed
UNROLL_KERNEL inline real handed_back(const HandOn& on, int64_t at, int64_t width, real d, real dy) {
  if (on.mask) d *= on.mask[at];
  if (on.direct) d += on.direct[at];
  if (on.rest) d += on.rest[at];
  if (on.kept && on.kept[quotient(at, width)] == 0) d = 0;
  d += dy;
  if (on.share) {
    const real of_computed = on.share[at] * d;
    on.rest_of_before[at] = d - of_computed;
    d = of_computed;
  }
  put_rounded(on.rounded, at, d);
  return d;
}
UNROLL_KERNEL inline real handed_back(const HandOn& on, int64_t at, int64_t width, real d) {
  return handed_back(on, at, width, d, on.dy ? on.dy[at] : 0);
}

// The same for `steps` steps.
inline void check_hand_on(const HandOn& on, int64_t batch, int64_t width, int64_t steps = 1) {
  const int64_t n = batch * width;
  for (const real* x : {on.share, on.mask, on.before, on.dy, on.direct, on.rest}) given(x, n, n * steps);
  for (real* x : {on.met, on.entering, on.rest_of_before}) given(x, n, n * steps);
  given(on.kept, batch, batch * steps), check_rounded(on.rounded, n, steps);
}

}  // namespace unroll::cuda
