// One step of an LSTM: everything but the products, in one kernel each way. Unit by unit; where rows are normalised, a team of
// threads for each.
#include "framework/kernels/cuda/fill.h"
#include "framework/kernels/cuda/lstm_cell.h"

namespace unroll::cuda {
namespace {

// A row with the norms of h's product and of c. of_product: what blocks gave of its rows, if they did.
template <class F, class G>
struct NormedCellValue {
  CellValue<F, G> cell;
  RowParts of_product;
  UNROLL_KERNEL void operator()(const WideTeam& team, int64_t r) const {
    const LstmStep& s = cell.s;
    const int64_t n = s.hidden, first = r * n, cols = s.gate_count() * n, gates = r * cols;
    const real* const product = s.norm_h.product + gates;
    const NormOfRow of_h =
        of_product.given ? NormOfRow(product, s.norm_h.gain, of_product.mean_and_rstd(team, r, s.norm_eps))
                         : NormOfRow(team, product, cols, s.norm_eps, s.norm_h.gain);
    of_h.keep(team, r, s.norm_h.mean, s.norm_h.rstd);
    team.each(n, [&](int64_t j) {
      const Unit u(s, first + j, j);
      const auto sum = [&](int64_t gate) {
        return s.norm_h.gain ? s.gates[gate] + of_h.normal(gate - gates) * s.norm_h.gain[gate - gates]
                             : s.gates[gate];
      };
      cell.state(first + j, u, {sum(u.i), sum(u.f), sum(u.g), sum(u.o)});
    });
    const NormOfRow of_c(team, s.c + first, n, s.norm_eps, s.norm_c.gain);
    of_c.keep(team, r, s.norm_c.mean, s.norm_c.rstd);
    team.each(n, [&](int64_t j) {
      const int64_t at = first + j;
      real seen = s.c[at];
      if (s.norm_c.gain) s.norm_c.y[at] = seen = of_c.normal(j) * s.norm_c.gain[j] + s.norm_c.bias[j];
      cell.output(at, s.gates[Unit(s, at, j).o], seen);
    });
  }
};

// The gradient of the kernel above. of_outputs: what blocks gave of c's norm as they made its gradient, if they did.
template <class F, class G>
struct NormedCellSlope {
  CellSlope<F, G> cell;
  RowParts of_outputs;
  UNROLL_KERNEL void operator()(const WideTeam& team, int64_t r) const {
    const LstmStep& s = cell.s;
    const int64_t n = s.hidden, first = r * n, cols = s.gate_count() * n, gates = r * cols;
    // c's norm: its gradient takes the place of norm_c.y.
    const SlopeOfRow of_c(s.c + first, r, n, s.norm_c.gain, s.norm_c.mean, s.norm_c.rstd);
    Two sums_c{0, 0};
    if (of_outputs.given)
      sums_c = of_outputs.sums(team, r);
    else if (s.norm_c.gain)
      sums_c = team.sums(n, [&](int64_t j) {
        const int64_t at = first + j;
        real &o = s.gates[Unit(s, at, j).o], &y = s.norm_c.y[at];
        y = cell.output(at, cell.dh[at], y, o);
        return of_c.terms(j, y);
      });
    const SlopeOfRow of_h(s.norm_h.product + gates, r, cols, s.norm_h.gain, s.norm_h.mean, s.norm_h.rstd);
    const Two sums_h = team.sums(n, [&](int64_t j) {
      const int64_t at = first + j;
      const Unit u(s, at, j);
      Gates d = u.read(s.gates);
      const real of_h_alone =
          s.norm_c.gain ? of_c.slope(j, s.norm_c.y[at], sums_c) : cell.output(at, cell.dh[at], s.c[at], d.o);
      d = cell.state(at, u, d, handed_back(s.c_on, at, n, cell.dc[at]) + of_h_alone);
      return s.norm_h.gain ? terms_of_h(s, of_h, gates, u, d) : Two{0, 0};
    });
    if (!s.norm_h.gain) return;
    team.each(n, [&](int64_t j) {
      const Unit u(s, first + j, j);
      const auto slope = [&](int64_t gate) { return of_h.slope(gate - gates, s.gates[gate], sums_h); };
      const Gates d{slope(u.i), slope(u.f), slope(u.g), slope(u.o)};
      u.put(s.norm_h.product, d), u.put(s.rounded_gates, d);
    });
  }
};

bool normalises(const LstmStep& s) { return s.norm_h.gain || s.norm_c.gain; }

template <class Use>
void with_functions_of(const LstmStep& s, Use use) {
  with_gate_function(s.gate,
                     [&]<class F>(F f) { with_cell_function(s.cell, [&]<class G>(G g) { use(f, g); }); });
}

void lstm_cell(const LstmStep& step) {
  const LstmStep s = step;
  if (normalises(s)) return normed_rows(s, {});
  const int64_t n = s.batch * s.hidden;
  check_step(s), given(s.h, n);
  with_functions_of(s, [&]<class F, class G>(F, G) { each_index(n, CellValue<F, G>{s}); });
}

void check_gradient(const LstmStep& s, const real* dh, const real* dc, real* dc_prev) {
  const int64_t n = s.batch * s.hidden;
  check_step(s), given(dh, n), given(dc, n), given(dc_prev, n),
      check_rounded(s.rounded_gates, s.gate_count() * n);
  if (s.peepholes) changed(s.dpeepholes, s.peephole_count() * n);
  if (s.norm_h.gain) changed(s.norm_h.dgain, s.gate_count() * n);
}

void normed_rows_gradient(const LstmStep& s, const real* dh, const real* dc, real* dc_prev,
                          const RowParts& of_outputs) {
  check_gradient(s, dh, dc, dc_prev);
  with_functions_of(s, [&]<class F, class G>(F, G) {
    each_row<wide_team>(s.batch, NormedCellSlope<F, G>{{s, dh, dc, dc_prev}, of_outputs});
  });
}

void lstm_cell_gradient(const LstmStep& step, const real* dh, const real* dc, real* dc_prev) {
  const LstmStep s = step;
  if (normalises(s)) return normed_rows_gradient(s, dh, dc, dc_prev, {});
  check_gradient(s, dh, dc, dc_prev);
  with_functions_of(s, [&]<class F, class G>(F, G) {
    each_index(s.batch * s.hidden, CellSlope<F, G>{s, dh, dc, dc_prev});
  });
}

}  // namespace

void normed_rows(const LstmStep& s, const RowParts& of_product) {
  check_step(s), given(s.h, s.batch * s.hidden);
  with_functions_of(s, [&]<class F, class G>(F, G) {
    each_row<wide_team>(s.batch, NormedCellValue<F, G>{{s}, of_product});
  });
}
void normed_rows_gradient(const LstmStep& s, const real* dc, real* dc_prev, const RowParts& of_outputs) {
  normed_rows_gradient(s, nullptr, dc, dc_prev, of_outputs);
}

void fill_lstm_cell(Kernels& k) {
  k.lstm_cell = lstm_cell;
  k.lstm_cell_gradient = lstm_cell_gradient;
}

}  // namespace unroll::cuda
