// An LSTM's unit in persistent kernels (persistent_layer.h).
#pragma once

#include "framework/kernels/cuda/lstm_cell.h"
#include "framework/kernels/cuda/persistent_layer.h"

namespace unroll::cuda {

struct LstmUnits {
  using Step = LstmStep;
  UNROLL_KERNEL static void go_on(Step& s, const Step& second, int64_t t) {
    using cuda::go_on;
    go_on(s.gates, second.gates, t), go_on(s.c_prev, second.c_prev, t), go_on(s.c, second.c, t);
    go_on(s.h, second.h, t), go_on(s.c_after, second.c_after, t);
    go_on(s.h_on, second.h_on, t), go_on(s.c_on, second.c_on, t);
    go_on(s.rounded_gates, second.rounded_gates, t);
  }
  template <class Use>
  UNROLL_INLINED static void each_hand_on(Step& s, Use use) {
    use(s.h_on), use(s.c_on);
  }
  // Fast functions, or those of all other kernels, to compare times: sigmoid and tanh.
  template <class Use>
  UNROLL_INLINED static void with_functions(const Step& s, bool exact, Use use) {
    if (exact && s.gate == Unary::sigmoid && s.cell == Unary::tanh) return use(Sigmoid{}, Tanh{});
    cuda::with_functions(s, [&]<class F, class G>(F, G) { use(Fast<F>{}, Fast<G>{}); });
  }

  struct Ahead {
    Gates sums;
    real before;
  };
  UNROLL_INLINED static Ahead read(const Step& s, int64_t at, int64_t j, bool are_there, const real* bias) {
    Gates sums{};
    if (are_there) sums = Unit(s, at, j).read(s.gates);
    if (bias) {
      const Gates of_unit = Unit(s, j, j).read(bias);
      if (!s.coupled) sums.i += of_unit.i;
      sums.f += of_unit.f, sums.g += of_unit.g, sums.o += of_unit.o;
    }
    return {sums, s.c_prev[at]};
  }
  template <class Sum>
  UNROLL_INLINED static void add_x(const Step& s, Ahead& a, Sum sum) {
    const int of_o = s.coupled ? 2 : 3;  // in order i f g o
    if (!s.coupled) a.sums.i += sum(0);
    a.sums.f += sum(of_o - 2), a.sums.g += sum(of_o - 1), a.sums.o += sum(of_o);
  }
  struct Done {
    UnitState state;
    HandedElement c, h;
  };
  template <class F, class G, class Sum>
  UNROLL_INLINED static Done values(const Step& s, int64_t at, int64_t j, Ahead a, Sum sum) {
    add_x(s, a, sum);
    const UnitState x = CellValue<F, G>{s}.values(Unit(s, at, j), a.sums, a.before);
    return {x, hand_element(s.c_on, at, s.hidden, x.c),
            hand_element(s.h_on, at, s.hidden, x.gates.o * G::value(x.c))};
  }
  UNROLL_INLINED static void put(const Step& s, int64_t at, int64_t j, const Done& x) {
    Unit(s, at, j).put(s.gates, x.state.gates);
    s.c[at] = x.state.c;
    cuda::put(s.c_on, at, x.c);
    if (s.c_after) s.c_after[at] = x.c.state;
  }

  struct AheadBack {
    Gates gates;
    real before, c, dc;
  };
  UNROLL_INLINED static AheadBack read_back(const Step& s, const real* dc, int64_t at, int64_t j) {
    return {Unit(s, at, j).read(s.gates), s.c_prev[at], s.c[at], dc[at]};
  }
  using DoneBack = UnitSlopes;
  template <class F, class G>
  UNROLL_INLINED static DoneBack slopes(const Step& s, int64_t at, int64_t j, AheadBack a, real of_h) {
    const real of_c =
        handed_back(s.c_on, at, s.hidden, a.dc, 0) + lstm_output_gradient<F, G>(a.gates.o, a.c, of_h);
    return CellSlope<F, G>{s, nullptr, nullptr, nullptr}.slopes(Unit(s, at, j), a.gates, a.before, a.c, of_c);
  }
  template <class Use>
  UNROLL_INLINED static void each_slope(const Step& s, const DoneBack& x, Use use) {
    if (!s.coupled) use(x.gates.i);
    use(x.gates.f), use(x.gates.g), use(x.gates.o);
  }
  UNROLL_INLINED static void put_back(const Step& s, real* dc, int64_t at, int64_t j, const DoneBack& x) {
    put_slopes(s, dc, at, Unit(s, at, j), x);
  }

  static void count(const LstmWindow& w, bool sums) {
    const LstmStep& s = w.first;
    const int64_t n = s.batch * s.hidden, of_steps = w.steps * n, of_gates = s.gate_count() * of_steps;
    sums ? changed(s.gates, of_gates) : given(s.gates, of_gates);
    given(s.c_prev, n, of_steps), given(s.c, of_steps), given(s.c_after, s.c_after ? of_steps : 0);
    given(s.peepholes, s.peephole_count() * s.hidden), check_hand_on(s.c_on, s.batch, s.hidden, w.steps);
    check_rounded(s.rounded_gates, s.gate_count() * n, w.steps);
  }
};

}  // namespace unroll::cuda
