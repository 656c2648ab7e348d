// One step of an LSTM: everything but the products. Unit by unit in one kernel, with norms of rows before and after it
// where there are any.
#include "framework/kernels/cuda/fill.h"
#include "framework/kernels/cuda/launch.h"
#include "framework/kernels/cuda/layer_norm.h"

namespace unroll::cuda {
namespace {

// Where a unit's gates are: element `at` of [batch, hidden] is unit j of its row.
struct Unit {
  real *i, *f, *g, *o;
  int64_t j;
  UNROLL_KERNEL Unit(const LstmStep& s, int64_t at) : j(at % s.hidden) {
    i = s.gates + s.gate_count() * (at - j) + j;  // f where they are coupled
    o = i + (s.gate_count() - 1) * s.hidden, g = o - s.hidden, f = g - s.hidden;
  }
};

// i f o = F, g = G of the gates;  c = f·c_prev + i·g;  h = o·G(c), which waits where c is normalised
template <class F, class G>
struct CellValue {
  LstmStep s;
  UNROLL_KERNEL void operator()(int64_t at) const {
    const Unit u(s, at);
    const int64_t n = s.hidden;
    const real before = s.c_prev[at];
    const int64_t of_o = (s.peephole_count() - 1) * n + u.j;
    real i = *u.i, f = *u.f;
    if (s.peepholes) i += s.peepholes[u.j] * before, f += s.peepholes[of_o - n] * before;
    f = F::value(f), i = s.coupled ? 1 - f : F::value(i);
    const real g = G::value(*u.g), sum = lstm_state(i, f, g, before);
    const real state = s.clip > 0 ? s.clip * HardTanh::value(sum / s.clip) : sum;
    real o = *u.o;
    if (s.peepholes) o += s.peepholes[of_o] * state;
    o = F::value(o);
    *u.i = i, *u.f = f, *u.g = g, *u.o = o;  // f stays, where i has its place
    s.c[at] = state;
    if (!s.norm_c.gain) s.h[at] = o * G::value(state);
  }
};
// h = o·G(the norm of c)
template <class G>
struct CellOutput {
  LstmStep s;
  UNROLL_KERNEL void operator()(int64_t at) const { s.h[at] = *Unit(s, at).o * G::value(s.norm_c.y[at]); }
};

// The gradient of o and of what G saw, which takes its place; dc waits in d for that of the norm
template <class F, class G>
struct OutputSlope {
  LstmStep s;
  const real *dh, *dc;
  real* d;
  UNROLL_KERNEL void operator()(int64_t at) const {
    const real of_state = dc[at];
    s.norm_c.y[at] = lstm_output_gradient<F, G>(*Unit(s, at).o, s.norm_c.y[at], dh[at]);
    d[at] = of_state;
  }
};
// dc += dh·o·G'(c), and then what stands at lstm_state_gradient
template <class F, class G>
struct CellSlope {
  LstmStep s;
  const real *dh, *dc;
  real* dc_prev;
  UNROLL_KERNEL void operator()(int64_t at) const {
    const Unit u(s, at);
    const int64_t n = s.hidden;
    const real before = s.c_prev[at], state = s.c[at];
    real i = *u.i, f = *u.f, g = *u.g, o = *u.o;
    real d = s.norm_c.gain ? dc_prev[at] : dc[at] + lstm_output_gradient<F, G>(o, state, dh[at]);
    const int64_t of_o = (s.peephole_count() - 1) * n + u.j;
    if (s.peepholes) d += s.peepholes[of_o] * o;
    if (s.clip > 0) d *= HardTanh::slope(0, state / s.clip);
    if (s.coupled)
      lstm_coupled_gradient<F, G>(f, g, before, d);
    else
      lstm_state_gradient<F, G>(i, f, g, before, d);
    if (s.peepholes) {
      real* sums = s.dpeepholes + s.peephole_count() * (at - u.j);
      d += s.coupled ? s.peepholes[of_o - n] * f : s.peepholes[u.j] * i + s.peepholes[of_o - n] * f;
      if (!s.coupled) sums[u.j] += before * i;
      sums[of_o - n] += before * f, sums[of_o] += state * o;
    }
    *u.i = i, *u.f = f, *u.g = g, *u.o = o;  // f stays, where i has its place
    dc_prev[at] = d;
  }
};

void put_normed(const LstmStep& s, const LstmStep::Norm& norm, bool add) {
  if (!norm.gain) return;
  const int64_t cols = s.gate_count() * s.hidden, n = s.batch * cols;
  each_row(s.batch,
           LayerNorm{given(norm.product, n), given(norm.gain, cols), given(norm.bias, cols), s.norm_eps, cols,
                     s.gates, add, given(norm.mean, s.batch), given(norm.rstd, s.batch)});
}
void normed_gradient(const LstmStep& s, const LstmStep::Norm& norm) {
  if (!norm.gain) return;
  const int64_t cols = s.gate_count() * s.hidden, n = s.batch * cols;
  real* product = given(norm.product, n);
  each_row(s.batch, LayerNormSlope{product, given(norm.gain, cols), given(norm.mean, s.batch),
                                   given(norm.rstd, s.batch), s.gates, cols, product, false,
                                   given(norm.dgain, n), nullptr});
}

// What both directions are given.
void check_step(const LstmStep& s) {
  const int64_t n = s.batch * s.hidden;
  given(s.gates, s.gate_count() * n), given(s.c_prev, n), given(s.c, n);
  given(s.peepholes, s.peephole_count() * s.hidden);
  if (s.norm_c.gain)
    given(s.norm_c.gain, s.hidden), given(s.norm_c.bias, s.hidden), given(s.norm_c.y, n),
        given(s.norm_c.mean, s.batch), given(s.norm_c.rstd, s.batch);
}

void lstm_cell(const LstmStep& step) {
  const LstmStep s = step;
  const int64_t n = s.batch * s.hidden;
  check_step(s), given(s.h, n);
  put_normed(s, s.norm_x, false);
  put_normed(s, s.norm_h, true);
  with_gate_function(s.gate, [&]<class F>(F) {
    with_cell_function(s.cell, [&]<class G>(G) {
      each(n, CellValue<F, G>{s});
      if (!s.norm_c.gain) return;
      each_row(s.batch, LayerNorm{s.c, s.norm_c.gain, s.norm_c.bias, s.norm_eps, s.hidden, s.norm_c.y, false,
                                  s.norm_c.mean, s.norm_c.rstd});
      each(n, CellOutput<G>{s});
    });
  });
}

void lstm_cell_gradient(const LstmStep& step, const real* dh, const real* dc, real* dc_prev) {
  const LstmStep s = step;
  const int64_t n = s.batch * s.hidden;
  check_step(s), given(dh, n), given(dc, n), given(dc_prev, n);
  if (s.peepholes) given(s.dpeepholes, s.peephole_count() * n);
  with_gate_function(s.gate, [&]<class F>(F) {
    with_cell_function(s.cell, [&]<class G>(G) {
      if (s.norm_c.gain) {
        each(n, OutputSlope<F, G>{s, dh, dc, dc_prev});
        each_row(s.batch,
                 LayerNormSlope{s.c, s.norm_c.gain, s.norm_c.mean, s.norm_c.rstd, s.norm_c.y, s.hidden,
                                dc_prev, true, given(s.norm_c.dgain, n), given(s.norm_c.dbias, n)});
      }
      each(n, CellSlope<F, G>{s, dh, dc, dc_prev});
    });
  });
  normed_gradient(s, s.norm_x);
  normed_gradient(s, s.norm_h);
}

}  // namespace

void fill_lstm_cell(Kernels& k) {
  k.lstm_cell = lstm_cell;
  k.lstm_cell_gradient = lstm_cell_gradient;
}

}  // namespace unroll::cuda
