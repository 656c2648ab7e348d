// A GRU's persistent kernels (persistent_layer.h).
#include "framework/kernels/cuda/gru_cell.h"
#include "framework/kernels/cuda/persistent_layer.h"

#ifndef UNROLL_DOUBLE  // sums are in float

namespace unroll::cuda {
namespace {

struct GruUnits {
  using Step = GruStep;
  UNROLL_KERNEL static void go_on(Step& s, const Step& second, int64_t t) {
    using cuda::go_on;
    go_on(s.gates, second.gates, t), go_on(s.sums, second.sums, t), go_on(s.h_prev, second.h_prev, t);
    go_on(s.h, second.h, t), go_on(s.h_on, second.h_on, t), go_on(s.rounded_sums, second.rounded_sums, t);
  }
  template <class Use>
  UNROLL_INLINED static void each_hand_on(Step& s, Use use) {
    use(s.h_on);
  }
  template <class Use>
  UNROLL_INLINED static void with_functions(const Step&, bool exact, Use use) {
    exact ? use(Sigmoid{}, Tanh{}) : use(Fast<Sigmoid>{}, Fast<Tanh>{});
  }
  UNROLL_INLINED static int64_t first_of(int64_t at, int64_t j) { return 3 * (at - j) + j; }
  UNROLL_INLINED static GruGates read_gates(const Step& s, const real* gates, int64_t first) {
    return {gates[first], gates[first + s.hidden], gates[first + 2 * s.hidden]};
  }
  UNROLL_INLINED static void put_gates(const Step& s, real* gates, int64_t first, const GruGates& x) {
    gates[first] = x.r, gates[first + s.hidden] = x.z, gates[first + 2 * s.hidden] = x.n;
  }

  struct Ahead {
    GruGates sums;
    real bias_hn, before;
  };
  UNROLL_INLINED static Ahead read(const Step& s, int64_t at, int64_t j, bool are_there, const real* bias) {
    GruGates sums{};
    if (are_there) sums = read_gates(s, s.gates, first_of(at, j));
    if (bias) {
      const GruGates of_unit = read_gates(s, bias, j);
      sums.r += of_unit.r, sums.z += of_unit.z, sums.n += of_unit.n;
    }
    return {sums, s.bias_hn[j], s.h_prev[at]};
  }
  template <class Sum>
  UNROLL_INLINED static void add_x(const Step&, Ahead& a, Sum sum) {
    a.sums.r += sum(0), a.sums.z += sum(1), a.sums.n += sum(2);
  }
  struct Done {
    GruUnit unit;
    HandedElement h;
  };
  template <class F, class G, class Sum>
  UNROLL_INLINED static Done values(const Step& s, int64_t at, int64_t, const Ahead& a, Sum sum) {
    const GruUnit x = gru_unit<F, G>(a.sums, {sum(0), sum(1), sum(2)}, a.bias_hn, a.before);
    return {x, hand_element(s.h_on, at, s.hidden, x.h)};
  }
  UNROLL_INLINED static void put(const Step& s, int64_t at, int64_t j, const Done& x) {
    const int64_t first = first_of(at, j);
    put_gates(s, s.gates, first, x.unit.gates);
    s.sums[first + 2 * s.hidden] = x.unit.reset;
  }

  struct AheadBack {
    GruGates gates;
    real reset, before;
  };
  UNROLL_INLINED static AheadBack read_back(const Step& s, const real*, int64_t at, int64_t j) {
    const int64_t first = first_of(at, j);
    return {read_gates(s, s.gates, first), s.sums[first + 2 * s.hidden], s.h_prev[at]};
  }
  struct DoneBack {
    GruGates gates;  // gradients
    real reset, kept;
  };
  template <class F, class G>
  UNROLL_INLINED static DoneBack slopes(const Step&, int64_t, int64_t, AheadBack a, real of_h) {
    DoneBack x{a.gates, a.reset, 0};
    gru_unit_gradient(x.gates.r, x.gates.z, x.gates.n, x.reset, a.before, of_h, x.kept);
    return x;
  }
  template <class Use>
  UNROLL_INLINED static void each_slope(const Step&, const DoneBack& x, Use use) {
    use(x.gates.r), use(x.gates.z), use(x.reset);
  }
  UNROLL_INLINED static void put_back(const Step& s, real* kept, int64_t at, int64_t j, const DoneBack& x) {
    const int64_t first = first_of(at, j);
    put_gates(s, s.gates, first, x.gates);
    put_gates(s, s.sums, first, {x.gates.r, x.gates.z, x.reset});
    put_rounded(s.rounded_sums, first, x.gates.r);
    put_rounded(s.rounded_sums, first + s.hidden, x.gates.z);
    put_rounded(s.rounded_sums, first + 2 * s.hidden, x.reset);
    kept[at] = x.kept;
  }

  static void count(const GruWindow& w, bool) {
    const GruStep& s = w.first;
    const int64_t n = s.batch * s.hidden, of_steps = w.steps * n;
    changed(s.gates, 3 * of_steps), changed(s.sums, 3 * of_steps, of_steps), given(s.h_prev, n, of_steps);
    given(s.bias_hn, s.hidden), check_rounded(s.rounded_sums, 3 * n, w.steps);
  }
};

}  // namespace
}  // namespace unroll::cuda

#endif

namespace unroll {

#ifdef UNROLL_DOUBLE
const PersistentKernels<GruWindow>* persistent_gru() { return nullptr; }
#else
const PersistentKernels<GruWindow>* persistent_gru() { return cuda::persistent_kernels<cuda::GruUnits>(); }
#endif

}  // namespace unroll
