// Hands one row of a state on from one step to the next (HandOn in kernels.h), for the kernels of cells, which have
// it in a cache. Each option is a loop of its own: a short one is as fast, and its sums are rounded the same whatever
// options act beside it.
#pragma once

#include "framework/kernels/cpu/launch.h"

namespace unroll::cpu::inline UNROLL_ISA {

// Row `row` of [batch, n]: as the step computed it -> the state, which may be the same memory.
inline void hand_on_row(const HandOn& on, int64_t row, int64_t n, const real* computed, real* state) {
  const int64_t at = row * n;
  if (on.share) {
    const real *u = on.share + at, *before = on.before + at;
    simd(n, [&](int64_t j) { state[j] = u[j] * computed[j] + (1 - u[j]) * before[j]; });
  } else if (state != computed) {
    simd(n, [&](int64_t j) { state[j] = computed[j]; });
  }
  const bool anew = on.kept && on.kept[row] == 0;
  const auto put = [=](real* y, const real* factors) {
    if (!y) return;
    if (anew) {
      for (int64_t j = 0; j < n; ++j) y[at + j] = 0;
    } else if (factors) {
      simd(n, [&](int64_t j) { y[at + j] = state[j] * factors[at + j]; });
    } else {
      simd(n, [&](int64_t j) { y[at + j] = state[j]; });
    }
  };
  put(on.met, nullptr);
  put(on.entering, on.mask);
}

// A row of d of what enters the next step's product -> that of what this step computed: in `room`, or where it was if nothing
// acts.
inline const real* hand_back_row(const HandOn& on, int64_t row, int64_t n, const real* d) {
  const int64_t at = row * n;
  const auto in_room = [&] {
    real* room = on.room + at;
    if (d != room) simd(n, [&](int64_t j) { room[j] = d[j]; });
    d = room;
    return room;
  };
  const auto add = [&](const real* x) {
    if (!x) return;
    real* sum = on.room + at;
    const real* to = d;
    simd(n, [&](int64_t j) { sum[j] = to[j] + x[at + j]; });
    d = sum;
  };
  if (on.mask) {
    real* room = in_room();
    simd(n, [&](int64_t j) { room[j] *= on.mask[at + j]; });
  }
  add(on.direct);
  add(on.rest);
  if (on.kept && on.kept[row] == 0) {
    real* room = in_room();
    for (int64_t j = 0; j < n; ++j) room[j] = 0;
  }
  add(on.dy);
  if (on.share) {
    real *room = in_room(), *rest = on.rest_of_before + at;
    simd(n, [&](int64_t j) { rest[j] = room[j]; });
    simd(n, [&](int64_t j) { room[j] *= on.share[at + j]; });
    simd(n, [&](int64_t j) { rest[j] -= room[j]; });
  }
  return d;
}

}  // namespace unroll::cpu::inline UNROLL_ISA
