// One step of a plain recurrent network: everything but the products, unit by unit; and what happens between steps by itself.
#include "framework/kernels/cuda/fill.h"
#include "framework/kernels/cuda/rnn_cell.h"

namespace unroll::cuda {
namespace {

void rnn_cell(const RnnStep& s) {
  const int64_t n = s.batch * s.hidden;
  changed(s.sums, n), given(s.h, n), check_hand_on(s.h_on, s.batch, s.hidden);
  with_cell_function(s.f, [&]<class F>(F) { each_index(n, RnnValue<F>{s}); });
}
void rnn_cell_gradient(const RnnStep& s, const real* dh) {
  const int64_t n = s.batch * s.hidden;
  changed(s.sums, n), given(dh, n), check_hand_on(s.h_on, s.batch, s.hidden),
      check_rounded(s.rounded_sums, n);
  with_cell_function(s.f, [&]<class F>(F) { each_index(n, RnnSlope<F>{s, dh}); });
}

struct Handed {
  HandOn on;
  const real* computed;
  int64_t width;
  real* state;
  UNROLL_KERNEL void operator()(int64_t at) const { state[at] = handed_on(on, at, width, computed[at]); }
};
void hand_on(const HandOn& on, const real* computed, int64_t batch, int64_t width, real* state) {
  const int64_t n = batch * width;
  check_hand_on(on, batch, width);
  each_index(n, Handed{on, given(computed, n), width, given(state, n)});
}

struct HandedSlope {
  HandOn on;
  const real* d;
  int64_t width;
  real* d_computed;
  UNROLL_KERNEL void operator()(int64_t at) const { d_computed[at] = handed_back(on, at, width, d[at]); }
};
void hand_on_gradient(const HandOn& on, const real* d, int64_t batch, int64_t width, real* d_computed) {
  const int64_t n = batch * width;
  check_hand_on(on, batch, width);
  each_index(n, HandedSlope{on, given(d, n), width, given(d_computed, n)});
}

}  // namespace

void fill_rnn_cell(Kernels& k) {
  k.rnn_cell = rnn_cell;
  k.rnn_cell_gradient = rnn_cell_gradient;
  k.hand_on = hand_on;
  k.hand_on_gradient = hand_on_gradient;
}

}  // namespace unroll::cuda
