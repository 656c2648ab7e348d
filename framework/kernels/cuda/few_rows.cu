// Products of few rows, each with the pass that follows it (framework/kernels/few_rows.h).
#include "framework/kernels/cuda/few_rows_norm.h"
#include "framework/kernels/cuda/gru_cell.h"
#include "framework/kernels/cuda/rnn_cell.h"

namespace unroll::cuda {
namespace {

template <class P>
int64_t packed_bytes(int64_t lines, int64_t depth) {
  return lines * numbers_apart<P>(depth) * int64_t{sizeof(typename P::Number)};
}
template <class P>
struct PackLines {
  Operand w;
  int64_t depth, apart;
  typename P::Number* packed;
  UNROLL_KERNEL void operator()(int64_t at) const {
    const int64_t line = quotient(at, apart), k = at - line * apart;
    packed[at] = P::rounded(k < depth ? w.data[line * w.row + k * w.col] : real{0});
  }
};
template <class P>
void pack(const Operand& w, int64_t lines, int64_t depth, void* packed) {
  const int64_t apart = numbers_apart<P>(depth), n = lines * apart;
  given(w.data, (lines - 1) * w.row + (depth - 1) * w.col + 1);
  each_index(n, PackLines<P>{w, depth, apart, given(static_cast<typename P::Number*>(packed), n)});
}

struct Put {
  int64_t split, width;
  FewRowsPut first, second;
  UNROLL_KERNEL void operator()(int64_t row, int64_t unit, const real* sums) const {
    if (unit < split)
      put(first, row * split + unit, unit, *sums);
    else
      put(second, row * (width - split) + unit - split, unit - split, *sums);
  }
  UNROLL_KERNEL static void put(const FewRowsPut& to, int64_t at, int64_t unit, real d) {
    if (to.bias) d += to.bias[unit];
    if (to.before) d += to.before[at];
    if (to.s) gated_gradient(to.s[at], to.x[at], d);
    cuda::put(to.add, to.y[at], d);
  }
};
void check_put(const FewRowsPut& to, int64_t rows, int64_t width) {
  const int64_t n = rows * width;
  given(to.y, n), given(to.bias, width), given(to.before, n), given(to.s, n), given(to.x, n);
}
template <class P>
void put(const FewRows& p, int64_t split, const FewRowsPut& first, const FewRowsPut& second) {
  check_put(first, p.rows, split), check_put(second, p.rows, p.width - split);
  multiply_few_rows<P>(p, Put{split, p.width, first, second});
}

struct Gate {
  int64_t width;
  real* a;
  const real* x;
  real* y;
  UNROLL_KERNEL void operator()(int64_t row, int64_t unit, const real* sums) const {
    const int64_t at = row * width + unit;
    real sum = *sums;
    y[at] = gated(sum, x[at]);
    a[at] = sum;
  }
};
template <class P>
void gate(const FewRows& p, real* a, const real* x, real* y) {
  const int64_t n = p.rows * p.width;
  multiply_few_rows<P>(p, Gate{p.width, given(a, n), given(x, n), given(y, n)});
}

struct LstmCell {
  LstmStep s;
  const real* bias;
  UNROLL_KERNEL void operator()(int64_t row, int64_t unit, const real* of_gate) const {
    const int64_t at = row * s.hidden + unit;
    const Unit u(s, at, unit);
    const int of_o = static_cast<int>(s.gate_count()) - 1;
    const real* const before = bias ? bias : s.gates + row * s.gate_count() * s.hidden;
    const Unit of_row(s, unit, unit);  // its places in one row
    Gates sums = of_row.read(before);
    sums.i += of_gate[0], sums.f += of_gate[of_o - 2], sums.g += of_gate[of_o - 1], sums.o += of_gate[of_o];
    with_functions(s, [&]<class F, class G>(F, G) { CellValue<F, G>{s}(at, u, sums); });
  }
};
template <class P>
void lstm_cell(const FewRows& p, const LstmStep& s, const real* bias) {
  const int64_t n = s.batch * s.hidden;
  check_step(s), given(s.h, n), given(bias, s.gate_count() * s.hidden);
  if (s.norm_h.gain) return normed_lstm_cell<P>(p, s);
  multiply_few_rows<P>(p, LstmCell{s, bias});
}

struct LstmSlope {
  LstmStep s;
  const real *before, *dc;
  real* dc_prev;
  UNROLL_KERNEL void operator()(int64_t row, int64_t unit, const real* sum) const {
    const int64_t at = row * s.hidden + unit;
    const real d = before ? *sum + before[at] : *sum;
    with_functions(s, [&]<class F, class G>(F, G) {
      CellSlope<F, G>{s, nullptr, dc, dc_prev}(at, Unit(s, at, unit), d);
    });
  }
};
template <class P>
void lstm_cell_gradient(const FewRows& p, const LstmStep& s, const real* before, const real* dc,
                        real* dc_prev) {
  const int64_t n = s.batch * s.hidden;
  given(before, n);
  if (s.norm_h.gain) return normed_lstm_cell_gradient<P>(p, s, before, dc, dc_prev);
  check_step(s), given(dc, n), given(dc_prev, n), check_rounded(s.rounded_gates, s.gate_count() * n);
  if (s.peepholes) given(s.dpeepholes, s.peephole_count() * n);
  multiply_few_rows<P>(p, LstmSlope{s, before, dc, dc_prev});
}

struct GruCell {
  GruStep s;
  UNROLL_KERNEL void operator()(int64_t row, int64_t unit, const real* of_gate) const {
    real* const sums = s.sums + 3 * row * s.hidden + unit;
    for (int g = 0; g < 3; ++g) sums[g * s.hidden] = of_gate[g];
    GruValue{s}(row * s.hidden + unit);
  }
};
template <class P>
void gru_cell(const FewRows& p, const GruStep& s) {
  check_step(s), given(s.bias_hn, s.hidden), given(s.h, s.batch * s.hidden);
  multiply_few_rows<P>(p, GruCell{s});
}

struct GruCellSlope {
  GruSlope slope;
  const real* before;
  UNROLL_KERNEL void operator()(int64_t row, int64_t unit, const real* sum) const {
    const int64_t at = row * slope.s.hidden + unit;
    slope(at, before ? *sum + before[at] : *sum);
  }
};
template <class P>
void gru_cell_gradient(const FewRows& p, const GruStep& s, const real* before, real* kept) {
  const int64_t n = s.batch * s.hidden;
  check_step(s), given(before, n), given(kept, n), check_rounded(s.rounded_sums, 3 * n);
  multiply_few_rows<P>(p, GruCellSlope{{s, nullptr, kept}, before});
}

// use(F): the cell's function.
template <class Use>
UNROLL_KERNEL void with_function(Unary f, Use use) {
  with_cell<Sigmoid>(f, [&]<class F, class G>(F, G g) { use(g); });
}
struct RnnCell {
  RnnStep s;
  const real* bias;
  UNROLL_KERNEL void operator()(int64_t row, int64_t unit, const real* sum) const {
    const int64_t at = row * s.hidden + unit;
    s.sums[at] = *sum + (bias ? bias[unit] : s.sums[at]);
    with_function(s.f, [&]<class F>(F) { RnnValue<F>{s}(at); });
  }
};
template <class P>
void rnn_cell(const FewRows& p, const RnnStep& s, const real* bias) {
  const int64_t n = s.batch * s.hidden;
  given(s.sums, n), given(s.h, n), given(bias, s.hidden), check_hand_on(s.h_on, s.batch, s.hidden);
  multiply_few_rows<P>(p, RnnCell{s, bias});
}

struct RnnCellSlope {
  RnnStep s;
  const real* before;
  UNROLL_KERNEL void operator()(int64_t row, int64_t unit, const real* sum) const {
    const int64_t at = row * s.hidden + unit;
    const real d = before ? *sum + before[at] : *sum;
    with_function(s.f, [&]<class F>(F) { RnnSlope<F>{s, nullptr}(at, d); });
  }
};
template <class P>
void rnn_cell_gradient(const FewRows& p, const RnnStep& s, const real* before) {
  const int64_t n = s.batch * s.hidden;
  given(s.sums, n), given(before, n), check_hand_on(s.h_on, s.batch, s.hidden),
      check_rounded(s.rounded_sums, n);
  multiply_few_rows<P>(p, RnnCellSlope{s, before});
}

template <class P>
FewRowsKernels kernels_in() {
  return {packed_bytes<P>, pack<P>,
          put<P>,          gate<P>,
          lstm_cell<P>,    lstm_cell_gradient<P>,
          gru_cell<P>,     gru_cell_gradient<P>,
          rnn_cell<P>,     rnn_cell_gradient<P>};
}

}  // namespace
}  // namespace unroll::cuda

namespace unroll {

const FewRowsProducts* few_rows_products() {
  using namespace cuda;
#ifdef UNROLL_DOUBLE
  static const FewRowsProducts products{kernels_in<FullNumbers>(), {}, {}, {}};
#else
  static const FewRowsProducts products{kernels_in<FullNumbers>(), kernels_in<Tf32Numbers>(),
                                        kernels_in<Bf16Numbers>(), kernels_in<Fp16Numbers>()};
#endif
  return &products;
}

}  // namespace unroll
