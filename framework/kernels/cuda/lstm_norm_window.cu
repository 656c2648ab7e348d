// An LSTM with layer norm in a persistent kernel. A row's mean wants what all blocks have, so a step has two more barriers: each block
// gives its share of a row's sums, and takes those of all. A thread meets the same units in each part of a step.
//
//   forward   product | norm of it, and c | norm of c, and h
//   back      dh, and the output's gradient | gradient of c and of the gates | gradient of the product
#include "framework/kernels/cuda/lstm_units.h"

#ifndef UNROLL_DOUBLE  // sums are in float

namespace unroll::cuda {
namespace {

struct NormedLstm : LstmUnits {
  UNROLL_KERNEL static void go_on(Step& s, const Step& second, int64_t t) {
    using cuda::go_on;
    LstmUnits::go_on(s, second, t);
    go_on(s.norm_h.product, second.norm_h.product, t), go_on(s.norm_h.mean, second.norm_h.mean, t);
    go_on(s.norm_h.rstd, second.norm_h.rstd, t), go_on(s.norm_c.y, second.norm_c.y, t);
    go_on(s.norm_c.mean, second.norm_c.mean, t), go_on(s.norm_c.rstd, second.norm_c.rstd, t);
  }
  static int64_t part_bytes(const PersistentPlan& plan) {
    return 2 * PersistentPlan::rows_at_once * plan.blocks * int64_t{sizeof(Two)};
  }
  static void count(const LstmWindow& w, bool sums) {
    LstmUnits::count(w, sums);
    const LstmStep& s = w.first;
    const int64_t n = s.batch * s.hidden, gates = s.gate_count();
    changed(s.norm_h.product, gates * n * w.steps), given(s.norm_h.gain, gates * s.hidden);
    given(s.norm_h.dgain, gates * n);
    changed(s.norm_c.y, n * w.steps), given(s.norm_c.gain, s.hidden), given(s.norm_c.bias, s.hidden);
    for (real* x : {s.norm_h.mean, s.norm_h.rstd, s.norm_c.mean, s.norm_c.rstd}) given(x, s.batch * w.steps);
  }
};

// The pairs of parts of a row: of_part() is summed, of_all() is the sum's own pair, and of_row() what units want of the row's.
//
// The mean of n numbers, and their squares around it; of a row its mean and rstd.
struct Moments {
  real eps;
  UNROLL_KERNEL static Two of_part(const Two& part, real n, real first) {
    const real d = part.a - first;
    return {n * d, part.b + n * d * d};
  }
  UNROLL_KERNEL static Two of_all(const Two& sums, real n, real first) {
    const real shift = sums.a / n, squares = sums.b - sums.a * shift;
    return {first + shift, squares < 0 ? 0 : squares};
  }
  UNROLL_KERNEL Two of_row(const Two& x, real n) const { return {x.a, 1 / sqrt(x.b / n + eps)}; }
};
struct Sums {
  UNROLL_KERNEL static Two of_part(const Two& part, real, real) { return part; }
  UNROLL_KERNEL static Two of_all(const Two& sums, real, real) { return sums; }
  UNROLL_KERNEL static Two of_row(const Two& x, real) { return x; }
};

UNROLL_KERNEL inline Two sum_over_warp(Two x) {
  for (int apart = warp_lanes / 2; apart > 0; apart /= 2) {
#ifdef __CUDACC__
    const Two other{__shfl_xor_sync(~0u, x.a, apart), __shfl_xor_sync(~0u, x.b, apart)};
#else
    const auto* const all = static_cast<const Two*>(exchange_in_warp(&x, sizeof x));
    const Two other = all[(static_cast<int>(threadIdx.x) % warp_lanes) ^ apart];
#endif
    x = {x.a + other.a, x.b + other.b};
  }
  return x;
}

// The rows of a batch, as blocks share out their units.
class Rows {
 public:
  UNROLL_KERNEL Rows(Two* given, int rows, const Units& units)
      : of_row_(pairs()),
        of_unit_(of_row_ + PersistentPlan::rows_at_once),
        given_(given),
        rows_(rows),
        units_(units) {
    const int64_t left = units.hidden - units.first;
    here_ = left < units.count ? static_cast<int>(left) : units.count;
  }
  // A unit's own pair, and the row's, once it is taken.
  UNROLL_KERNEL Two& of_unit(int row, int unit) const { return of_unit_[row * units_.count + unit]; }
  UNROLL_KERNEL const Two& of_row(int row) const { return of_row_[row]; }

  // Makes the rows' pairs of those of their units, of n numbers each, in all blocks. step: 0 or 1, in turns.
  template <class Kind>
  UNROLL_INLINED void share(GridBarrier& barrier, int step, real n, Kind kind) const {
    __syncthreads();
    const int row = static_cast<int>(threadIdx.x);
    if (row < rows_) {
      const real first = of_unit(row, 0).a;
      Two all{0, 0};
      for (int u = 0; u < here_; ++u) {
        const Two x = Kind::of_part(of_unit(row, u), n, first);
        all.a += x.a, all.b += x.b;
      }
      of(step, row)[blockIdx.x] = Kind::of_all(all, n * static_cast<real>(here_), first);
    }
    barrier.wait();
    const int warp = static_cast<int>(threadIdx.x) / warp_lanes,
              lane = static_cast<int>(threadIdx.x) % warp_lanes, blocks = static_cast<int>(gridDim.x);
    for (int r = warp; r < rows_; r += persistent_warps) {
      const Two* const parts = of(step, r);
      const real first = parts[0].a;
      Two mine{0, 0};
      for (int block = lane; block < blocks; block += warp_lanes) {
        const int64_t left = units_.hidden - int64_t{block} * units_.count;
        const Two x = Kind::of_part(parts[block],
                                    n * static_cast<real>(left < units_.count ? left : units_.count), first);
        mine.a += x.a, mine.b += x.b;
      }
      mine = sum_over_warp(mine);
      const real all = n * static_cast<real>(units_.hidden);
      if (lane == 0) of_row_[r] = kind.of_row(Kind::of_all(mine, all, first), all);
    }
    __syncthreads();
  }
  // One block keeps the rows' pairs for the gradient.
  UNROLL_INLINED void keep(real* a, real* b) const {
    const int row = static_cast<int>(threadIdx.x);
    if (blockIdx.x == 0 && row < rows_) a[row] = of_row_[row].a, b[row] = of_row_[row].b;
  }

 private:
  UNROLL_KERNEL Two* of(int step, int row) const {
    return given_ + (int64_t{step} * PersistentPlan::rows_at_once + row) * gridDim.x;
  }
  UNROLL_KERNEL static Two* pairs() {
    UNROLL_SHARED(pairs, Two[PersistentPlan::rows_at_once * (PersistentPlan::most_units + 1)]);
    static_assert(sizeof pairs <= PersistentPlan::norm_bytes);
    return pairs;
  }
  Two *of_row_, *of_unit_;  // in shared memory
  Two* given_;              // [2, rows_at_once, blocks]
  int rows_, here_;         // here: units of this block
  Units units_;
};

template <class W>
class NormedForward : public Forward<W, NormedLstm> {
  using Base = Forward<W, NormedLstm>;

 public:
  UNROLL_INLINED NormedForward(const Recurrence<W, NormedLstm>& r, const Layer<W, NormedLstm>& layer,
                               uint4* shared)
      : Base(r, layer, shared), rows_(r.parts, static_cast<int>(layer.w.first.batch), this->units_) {}
  UNROLL_INLINED void prepare(const LstmStep&) {}
  UNROLL_INLINED void multiply_coming(int64_t) {}
  UNROLL_INLINED void finish(const LstmStep&, int64_t) {}

  UNROLL_INLINED void compute(const LstmStep& s, int64_t t, GridBarrier& barrier) {
    const int rows = static_cast<int>(s.batch), gates = static_cast<int>(s.gate_count()), of_o = gates - 1;
    const auto n = static_cast<real>(gates);
    const real of_n = 1 / n;
    const Units& units = this->units_;
    this->own_.multiply(this->layer_.handed_on, t, 0, rows);
    units.each(0, rows, [&](bool, int row, int unit, int64_t) {
      real sums[4] = {}, mean = 0, squares = 0;
      for (int g = 0; g < gates; ++g) sums[g] = this->own_.sum(row, unit * gates + g), mean += sums[g];
      mean *= of_n;
      for (int g = 0; g < gates; ++g) squares += (sums[g] - mean) * (sums[g] - mean);
      rows_.of_unit(row, unit) = {mean, squares};
    });
    rows_.share(barrier, 0, n, Moments{s.norm_eps});
    rows_.keep(s.norm_h.mean, s.norm_h.rstd);
    NormedLstm::with_functions(s, this->r_.exact, [&]<class F, class G>(F, G) {
      units.each(0, rows, [&](bool, int row, int unit, int64_t at) {
        const Unit u(s, at, units.first + unit);
        const Two norm = rows_.of_row(row);
        const int64_t of_row = row * s.gate_count() * s.hidden;
        const auto sum = [&](int64_t gate, int g) {
          const real product = this->own_.sum(row, unit * gates + g);
          s.norm_h.product[gate] = product;
          return s.gates[gate] + (product - norm.a) * norm.b * s.norm_h.gain[gate - of_row];
        };
        Gates sums{0, sum(u.f, of_o - 2), sum(u.g, of_o - 1), sum(u.o, of_o)};
        if (!s.coupled) sums.i = sum(u.i, 0);
        CellValue<F, G>{s}.state(at, u, sums);
        rows_.of_unit(row, unit) = {s.c[at], 0};
      });
    });
    rows_.share(barrier, 1, 1, Moments{s.norm_eps});
    rows_.keep(s.norm_c.mean, s.norm_c.rstd);
    NormedLstm::with_functions(s, this->r_.exact, [&]<class F, class G>(F, G) {
      units.each(0, rows, [&](bool, int row, int unit, int64_t at) {
        const int64_t j = units.first + unit;
        const Two norm = rows_.of_row(row);
        const real seen =
            (rows_.of_unit(row, unit).a - norm.a) * norm.b * s.norm_c.gain[j] + s.norm_c.bias[j];
        const HandedElement h =
            hand_element(s.h_on, at, s.hidden, s.gates[Unit(s, at, j).o] * G::value(seen));
        this->layer_.handed_on.number(t + 1, row, j) = W::rounded(static_cast<float>(h.entering));
        s.norm_c.y[at] = seen, s.h[at] = h.state;
        put(s.h_on, at, h);
      });
    });
  }

 private:
  const Rows rows_;
};

template <class W>
class NormedBackward : public Backward<W, NormedLstm> {
  using Base = Backward<W, NormedLstm>;

 public:
  UNROLL_INLINED NormedBackward(const Recurrence<W, NormedLstm>& r, const Layer<W, NormedLstm>& layer,
                                uint4* shared)
      : Base(r, layer, shared),
        rows_(r.parts, static_cast<int>(layer.w.first.batch), this->units_),
        part_of_c_(1 / static_cast<real>(layer.w.first.hidden)),
        part_of_h_(1 / static_cast<real>(layer.w.first.gate_count() * layer.w.first.hidden)) {}
  UNROLL_INLINED void prepare(const LstmStep&) {}
  UNROLL_INLINED void multiply_coming(int64_t) {}
  UNROLL_INLINED void finish(const LstmStep&, int64_t) {}

  UNROLL_INLINED void compute(const LstmStep& s, int64_t t, GridBarrier& barrier) {
    compute_output(s, t);
    rows_.share(barrier, 0, 1, Sums{});
    compute_state(s);
    rows_.share(barrier, 1, 1, Sums{});
    compute_product(s, t);
  }

 private:
  UNROLL_INLINED SlopeOfRow of_c(const LstmStep& s, int row) const {
    return {s.c + row * s.hidden, row, part_of_c_, s.norm_c.gain, s.norm_c.mean, s.norm_c.rstd};
  }
  UNROLL_INLINED SlopeOfRow of_h(const LstmStep& s, int row) const {
    const real* const product = s.norm_h.product + row * s.gate_count() * s.hidden;
    return {product, row, part_of_h_, s.norm_h.gain, s.norm_h.mean, s.norm_h.rstd};
  }
  // dh, and the gradients of o and of c's norm, which takes the place of its y.
  UNROLL_INLINED void compute_output(const LstmStep& s, int64_t t) {
    const int rows = static_cast<int>(s.batch);
    const bool is_last = t == this->layer_.w.steps - 1;
    if (!is_last) this->own_.multiply(this->layer_.handed_on, t + 1, 0, rows);
    NormedLstm::with_functions(s, this->r_.exact, [&]<class F, class G>(F, G) {
      this->units_.each(0, rows, [&](bool, int row, int unit, int64_t at) {
        const int64_t j = this->units_.first + unit;
        real &o = s.gates[Unit(s, at, j).o], &y = s.norm_c.y[at];
        const real d = is_last ? this->layer_.w.dh[at] : this->own_.sum(row, unit);
        y = CellSlope<F, G>{s, nullptr, nullptr, nullptr}.output(at, d, y, o);
        rows_.of_unit(row, unit) = of_c(s, row).terms(j, y);
      });
    });
  }
  // The gradients of c and of the gates.
  UNROLL_INLINED void compute_state(const LstmStep& s) {
    real* const dc = this->layer_.w.carried;
    NormedLstm::with_functions(s, this->r_.exact, [&]<class F, class G>(F, G) {
      this->units_.each(0, static_cast<int>(s.batch), [&](bool, int row, int unit, int64_t at) {
        const int64_t j = this->units_.first + unit, of_row = row * s.gate_count() * s.hidden;
        const Unit u(s, at, j);
        const real d_of_c = handed_back(s.c_on, at, s.hidden, dc[at], 0) +
                            of_c(s, row).slope(j, s.norm_c.y[at], rows_.of_row(row));
        const Gates d = CellSlope<F, G>{s, nullptr, dc, dc}.state(at, u, u.read(s.gates), d_of_c);
        rows_.of_unit(row, unit) = terms_of_h(s, of_h(s, row), of_row, u, d);
      });
    });
  }
  // The gradient of h's product, which is handed on.
  UNROLL_INLINED void compute_product(const LstmStep& s, int64_t t) {
    this->units_.each(0, static_cast<int>(s.batch), [&](bool, int row, int unit, int64_t at) {
      const int64_t j = this->units_.first + unit, of_row = row * s.gate_count() * s.hidden;
      const Unit u(s, at, j);
      const SlopeOfRow norm = of_h(s, row);
      int64_t k = s.gate_count() * j;
      const auto hand = [&](int64_t gate) {
        const real d = norm.slope(gate - of_row, s.gates[gate], rows_.of_row(row));
        this->layer_.handed_on.number(t, row, k++) = W::rounded(static_cast<float>(d));
        s.norm_h.product[gate] = d;
        put_rounded(s.rounded_gates, gate, d);
      };
      if (!s.coupled) hand(u.i);
      hand(u.f), hand(u.g), hand(u.o);
    });
  }

  const Rows rows_;
  const real part_of_c_, part_of_h_;
};

}  // namespace

template <class W>
struct Ways<W, NormedLstm> {
  using Forward = NormedForward<W>;
  using Backward = NormedBackward<W>;
};

}  // namespace unroll::cuda

#endif

namespace unroll {

#ifdef UNROLL_DOUBLE
const PersistentKernels<LstmWindow>* persistent_lstm_norm() { return nullptr; }
#else
const PersistentKernels<LstmWindow>* persistent_lstm_norm() {
  return cuda::persistent_kernels<cuda::NormedLstm>();
}
#endif

}  // namespace unroll
