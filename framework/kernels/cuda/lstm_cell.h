// One unit of an LSTM cell in one step: what its kernels do, whatever gave them the sums of its gates.
#pragma once

#include "framework/kernels/cuda/hand_on.h"
#include "framework/kernels/cuda/layer_norm.h"

namespace unroll::cuda {

// A unit's four gates, or their gradients. If i is 1 - f it has no place of its own: a value put there is not kept.
struct Gates {
  real i, f, g, o;
};

// The places of a unit's gates: element `at` of [batch, hidden] is unit j of its row.
struct Unit {
  int64_t j, i, f, g, o;  // i is f where they are coupled
  UNROLL_KERNEL Unit(const LstmStep& s, int64_t at) : Unit(s, at, rest_of(at, s.hidden)) {}
  UNROLL_KERNEL Unit(const LstmStep& s, int64_t at, int64_t unit) : j(unit) {
    i = s.gate_count() * (at - j) + j;
    o = i + (s.gate_count() - 1) * s.hidden, g = o - s.hidden, f = g - s.hidden;
  }
  UNROLL_KERNEL Gates read(const real* gates) const { return {gates[i], gates[f], gates[g], gates[o]}; }
  UNROLL_KERNEL void put(real* gates, const Gates& x) const {
    gates[i] = x.i, gates[f] = x.f, gates[g] = x.g, gates[o] = x.o;  // f stays, where i has its place
  }
  UNROLL_KERNEL void put(const RoundedCopy& gates, const Gates& x) const {
    put_rounded(gates, i, x.i), put_rounded(gates, f, x.f);
    put_rounded(gates, g, x.g), put_rounded(gates, o, x.o);
  }
};

// A unit's gates and c, as a step computes them.
struct UnitState {
  Gates gates;
  real c;
};
// Its gates' gradients, c before the step and after it, and d of c before.
struct UnitSlopes {
  Gates gates;
  real before, c, d;
};
UNROLL_KERNEL inline real clipped(real x, real limit) { return x < -limit ? -limit : x > limit ? limit : x; }

// i f o = F, g = G of the gates;  c = f·c_prev + i·g;  h = o·G(c)
template <class F, class G>
struct CellValue {
  LstmStep s;
  UNROLL_KERNEL void operator()(int64_t at) const {
    const Unit u(s, at);
    (*this)(at, u, u.read(s.gates));
  }
  UNROLL_KERNEL void operator()(int64_t at, const Unit& u, const Gates& sums) const {
    const Gates gates = state(at, u, sums);
    output(at, gates.o, s.c[at]);
  }
  // The sums of its gates -> the gates; they and c are put where they belong.
  UNROLL_KERNEL Gates state(int64_t at, const Unit& u, const Gates& sums) const {
    const UnitState x = values(u, sums, s.c_prev[at]);
    u.put(s.gates, x.gates);
    s.c[at] = x.c;
    const real after = handed_on(s.c_on, at, s.hidden, x.c);
    if (s.c_after) s.c_after[at] = after;
    return x.gates;
  }
  UNROLL_KERNEL UnitState values(const Unit& u, const Gates& sums, real before) const {
    const int64_t of_o = (s.peephole_count() - 1) * s.hidden + u.j;
    real i = sums.i, f = sums.f, o = sums.o;
    if (s.peepholes) i += s.peepholes[u.j] * before, f += s.peepholes[of_o - s.hidden] * before;
    f = F::value(f), i = s.coupled ? 1 - f : F::value(i);
    const real g = G::value(sums.g), sum = lstm_state(i, f, g, before);
    const real c = s.clip > 0 ? clipped(sum, s.clip) : sum;
    if (s.peepholes) o += s.peepholes[of_o] * c;
    return {{i, f, g, F::value(o)}, c};
  }
  // seen: c, or its norm
  UNROLL_KERNEL void output(int64_t at, real o, real seen) const {
    s.h[at] = handed_on(s.h_on, at, s.hidden, o * G::value(seen));
  }
};

// Puts the gradients of a unit where they belong.
UNROLL_KERNEL inline void put_slopes(const LstmStep& s, real* dc_prev, int64_t at, const Unit& u,
                                     const UnitSlopes& x) {
  if (s.peepholes) {
    const int64_t of_o = (s.peephole_count() - 1) * s.hidden + u.j;
    real* const sums = s.dpeepholes + s.peephole_count() * (at - u.j);
    if (!s.coupled) sums[u.j] += x.before * x.gates.i;
    sums[of_o - s.hidden] += x.before * x.gates.f, sums[of_o] += x.c * x.gates.o;
  }
  u.put(s.gates, x.gates);
  if (s.rounded_gates.data && !s.norm_h.gain) u.put(s.rounded_gates, x.gates);
  dc_prev[at] = s.c_on.share ? x.d + s.c_on.rest_of_before[at] : x.d;
}

// A unit's terms in the two means of its row of h's product, by the gradients of its gates; the gain gets its own. gates: where the
// row begins.
UNROLL_KERNEL inline Two terms_of_h(const LstmStep& s, const SlopeOfRow& h, int64_t gates, const Unit& u,
                                    const Gates& d) {
  Two sums{0, 0};
  Gates of_gain = u.read(s.norm_h.dgain);  // all are read before one is written: a thread waits once
  const auto gather = [&](int64_t gate, real of_gate, real& gain) {
    gain += of_gate * h.normal(gate - gates);
    const Two terms = h.terms(gate - gates, of_gate);
    sums.a += terms.a, sums.b += terms.b;
  };
  if (!s.coupled) gather(u.i, d.i, of_gain.i);
  gather(u.f, d.f, of_gain.f), gather(u.g, d.g, of_gain.g), gather(u.o, d.o, of_gain.o);
  u.put(s.norm_h.dgain, of_gain);
  return sums;
}

// dc += dh·o·G'(c), and then what stands at lstm_state_gradient
template <class F, class G>
struct CellSlope {
  LstmStep s;
  const real *dh, *dc;
  real* dc_prev;
  UNROLL_KERNEL void operator()(int64_t at) const { (*this)(at, Unit(s, at), dh[at]); }
  // d: of h, as HandOn takes it
  UNROLL_KERNEL void operator()(int64_t at, const Unit& u, real d) const {
    Gates gates = u.read(s.gates);
    const real of_c = handed_back(s.c_on, at, s.hidden, dc[at]) + output(at, d, s.c[at], gates.o);
    state(at, u, gates, of_c);
  }
  // -> d of what h saw: c, or its norm. o receives its gradient.
  UNROLL_KERNEL real output(int64_t at, real d, real seen, real& o) const {
    return lstm_output_gradient<F, G>(o, seen, handed_back(s.h_on, at, s.hidden, d));
  }
  // The gates but o, of which there is the gradient, and d of c -> the gates' gradients. They and dc_prev are put where they belong.
  UNROLL_KERNEL Gates state(int64_t at, const Unit& u, const Gates& gates, real d) const {
    const UnitSlopes x = slopes(u, gates, s.c_prev[at], s.c[at], d);
    put_slopes(s, dc_prev, at, u, x);
    return x.gates;
  }
  UNROLL_KERNEL UnitSlopes slopes(const Unit& u, Gates gates, real before, real c, real d) const {
    const int64_t of_o = (s.peephole_count() - 1) * s.hidden + u.j, of_f = of_o - s.hidden;
    real &i = gates.i, &f = gates.f, &g = gates.g, &o = gates.o;
    if (s.peepholes) d += s.peepholes[of_o] * o;
    if (s.clip > 0 && !(c > -s.clip && c < s.clip)) d = 0;
    if (s.coupled)
      lstm_coupled_gradient<F, G>(f, g, before, d);
    else
      lstm_state_gradient<F, G>(i, f, g, before, d);
    if (s.peepholes) d += s.coupled ? s.peepholes[of_f] * f : s.peepholes[u.j] * i + s.peepholes[of_f] * f;
    return {gates, before, c, d};
  }
};

// use(F, G): the functions of the gates and of the cell, chosen within a kernel.
template <class F, class Use>
UNROLL_KERNEL void with_cell(Unary cell, Use use) {
  if (cell == Unary::relu) return use(F{}, Relu{});
  if (cell == Unary::hard_tanh) return use(F{}, HardTanh{});
  if (cell == Unary::softsign) return use(F{}, Softsign{});
  use(F{}, Tanh{});
}
template <class Use>
UNROLL_KERNEL void with_functions(const LstmStep& s, Use use) {
  if (s.gate == Unary::hard_sigmoid)
    with_cell<HardSigmoid>(s.cell, use);
  else
    with_cell<Sigmoid>(s.cell, use);
}

// Checks the arguments that both directions are given.
inline void check_step(const LstmStep& s) {
  const int64_t n = s.batch * s.hidden, gates = s.gate_count() * n;
  changed(s.gates, gates), given(s.c_prev, n), given(s.c, n), given(s.c_after, n);
  given(s.peepholes, s.peephole_count() * s.hidden);
  if (s.norm_h.gain)
    given(s.norm_h.gain, s.gate_count() * s.hidden), changed(s.norm_h.product, gates),
        given(s.norm_h.mean, s.batch), given(s.norm_h.rstd, s.batch);
  if (s.norm_c.gain)
    given(s.norm_c.gain, s.hidden), given(s.norm_c.bias, s.hidden), changed(s.norm_c.y, n),
        given(s.norm_c.mean, s.batch), given(s.norm_c.rstd, s.batch);
  check_hand_on(s.h_on, s.batch, s.hidden), check_hand_on(s.c_on, s.batch, s.hidden);
}

// --- rows that are normalised ------------------------------------------------------------------------------------------

// The parts of a row that blocks have, `of_part` numbers each but the last, and what each gives: [rows, parts].
struct RowParts {
  Two* given;
  int64_t count, of_part, size;
  UNROLL_KERNEL Two& of(int64_t row, int64_t part) const { return given[row * count + part]; }
  UNROLL_KERNEL Two sums(const WideTeam& team, int64_t row) const {
    return team.sums(count, [=, this](int64_t i) { return of(row, i); });
  }
  // Each part's mean, and its squares around it -> the row's mean and rstd.
  UNROLL_KERNEL Two mean_and_rstd(const WideTeam& team, int64_t row, real eps) const {
    const real first = of(row, 0).a;
    const Two all = team.sums(count, [=, this](int64_t i) {
      const Two part = of(row, i);
      const int64_t left = size - i * of_part;
      const real n = static_cast<real>(left < of_part ? left : of_part), d = part.a - first;
      return Two{n * d, part.b + n * d * d};
    });
    const real shift = all.a / static_cast<real>(size),
               variance = all.b / static_cast<real>(size) - shift * shift;
    return {first + shift, 1 / sqrt((variance < 0 ? 0 : variance) + eps)};
  }
};

// lstm_cell.cu: Kernels::lstm_cell with the norms of h and c, where blocks gave each their mean of h's product, and their squares
// around it.
void normed_rows(const LstmStep& s, const RowParts& of_product);
// Its gradient, behind that of the output: norm_c.y is the gradient of c's norm, blocks gave their terms of its sums, and gate o has
// its gradient.
void normed_rows_gradient(const LstmStep& s, const real* dc, real* dc_prev, const RowParts& of_c);

}  // namespace unroll::cuda
