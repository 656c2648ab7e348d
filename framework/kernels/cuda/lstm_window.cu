// An LSTM's recurrence over a window, one kernel each way, of one layer or of two. A block keeps its units' recurrent weights in
// shared memory. In each step it multiplies them with what all blocks handed on, and adds the sums to those of x. Then it does with its
// units what the loop's kernel does, hands on what others wait for, says that it has come, and puts down the rest while it waits.
//
// The idea is that of Diamos et al. 2016, "Persistent RNNs".
#include "framework/kernels/cuda/fast.h"
#include "framework/kernels/cuda/lstm_cell.h"
#include "framework/kernels/cuda/persistent_steps.h"
#include "framework/plain.h"

#ifndef UNROLL_DOUBLE  // sums are in float

namespace unroll::cuda {
namespace {

// Fast functions, or those of all other kernels, to compare times: sigmoid and tanh.
template <class Use>
UNROLL_KERNEL void with_functions_of(const LstmStep& s, bool exact, Use use) {
  if (exact && s.gate == Unary::sigmoid && s.cell == Unary::tanh) return use(Sigmoid{}, Tanh{});
  with_functions(s, [&]<class F, class G>(F, G) { use(Fast<F>{}, Fast<G>{}); });
}

// A unit's step reads this besides the sums, and leaves the other besides what is handed on.
struct Ahead {
  Gates sums;
  real before;
};
struct Done {
  int64_t at = -1;  // none
  int unit;
  UnitState state;
  HandedElement c, h;
  real x;  // of the upper layer
};

template <class W>
class Forward {
 public:
  static constexpr bool begins_with_barrier = true;
  UNROLL_INLINED Forward(const Recurrence<W>& r, const Layer<W>& layer, uint4* shared)
      : r_(r),
        layer_(layer),
        units_(layer),
        own_(shared, layer.groups, layer.handed_on.chunks),
        of_x_(shared + layer.own_pieces, layer.groups, layer.coming.chunks) {
    const LstmWindow& w = layer.w;
    load_rows(own_, units_, w, Weights<W>{w.weight_hh, w.rounded_weight_hh});
    if (of_x_.are_there())
      load_rows(of_x_, units_, w, Weights<W>{r.between.weight_ih, r.between.rounded_weight_ih});
    r.clear_ends(units_.hidden);
    units_.each(0, static_cast<int>(w.first.batch), [&](bool, int row, int unit, int64_t at) {
      layer.handed_on.number(0, row, units_.first + unit) = W::rounded(static_cast<float>(w.entering[at]));
    });
  }
  UNROLL_INLINED static int64_t step_of(const LstmWindow&, int64_t turn) { return turn; }
  // After the last step there is none that its states are handed on to.
  UNROLL_INLINED static void end(LstmStep& s, int64_t turn, int64_t turns) {
    if (turn < turns - 1) return;
    for (HandOn* on : {&s.h_on, &s.c_on}) on->kept = on->mask = nullptr, on->met = on->entering = nullptr;
  }

  UNROLL_INLINED void prepare(const LstmStep& s) {
    units_.first_of_thread(layer_.w, [&](int unit, int64_t at) { ahead_ = read(s, unit, at); });
  }
  UNROLL_INLINED void multiply_coming(int64_t t) {
    of_x_.multiply(layer_.coming, t, 0, static_cast<int>(layer_.w.first.batch));
  }
  UNROLL_INLINED void compute(const LstmStep& s, int64_t t) {
    const int64_t gates = s.gate_count();
    each_rows(layer_.w, [&](int first, int rows) {
      own_.multiply(layer_.handed_on, t, first, rows);
      with_functions_of(s, r_.exact, [&]<class F, class G>(F, G) {
        const CellValue<F, G> cell{s};
        units_.each(first, rows, [&](bool is_first, int row, int unit, int64_t at) {
          Ahead a = is_first ? ahead_ : read(s, unit, at);
          const int line = unit * static_cast<int>(gates);  // the first of its gates' in order i f g o
          const int of_o = line + static_cast<int>(gates) - 1;
          const auto add = [&](const auto& lines) {
            if (!s.coupled) a.sums.i += lines.sum(row, line);
            a.sums.f += lines.sum(row, of_o - 2), a.sums.g += lines.sum(row, of_o - 1),
                a.sums.o += lines.sum(row, of_o);
          };
          if (of_x_.are_there()) add(of_x_);
          add(own_);
          const UnitState x = cell.values(units_.place(s, unit, at), a.sums, a.before);
          Done done{at,
                    unit,
                    x,
                    hand_element(s.c_on, at, s.hidden, x.c),
                    hand_element(s.h_on, at, s.hidden, x.gates.o * G::value(x.c)),
                    0};
          layer_.handed_on.number(t + 1, first + row, units_.first + unit) =
              W::rounded(static_cast<float>(done.h.entering));
          if (layer_.giving.numbers) {
            const LstmBetween& b = r_.between;
            done.x = b.mask ? done.h.state * b.mask[t * (b.second_mask - b.mask) + at] : done.h.state;
            layer_.giving.number(t, first + row, units_.first + unit) =
                W::rounded(static_cast<float>(done.x));
          }
          finish(s, t);
          done_ = done;
        });
      });
    });
  }
  // Puts down what the last unit of this thread left.
  UNROLL_INLINED void finish(const LstmStep& s, int64_t t) {
    const int64_t at = done_.at;
    if (at < 0) return;
    done_.at = -1;
    units_.place(s, done_.unit, at).put(s.gates, done_.state.gates);
    s.c[at] = done_.state.c, s.h[at] = done_.h.state;
    put(s.c_on, at, done_.c), put(s.h_on, at, done_.h);
    if (s.c_after) s.c_after[at] = done_.c.state;
    if (!layer_.giving.numbers) return;
    const LstmBetween& b = r_.between;
    if (b.x) b.x[t * (b.second_x - b.x) + at] = done_.x;
    put_rounded(b.rounded_x, t * s.batch * s.hidden + at, done_.x);
  }

 private:
  UNROLL_INLINED Ahead read(const LstmStep& s, int unit, int64_t at) const {
    Gates sums{};
    if (!of_x_.are_there()) sums = units_.place(s, unit, at).read(s.gates);
    if (const real* bias = layer_.w.bias) {
      const Gates of_unit = Unit{s, units_.first + unit, units_.first + unit}.read(bias);
      if (!s.coupled) sums.i += of_unit.i;
      sums.f += of_unit.f, sums.g += of_unit.g, sums.o += of_unit.o;
    }
    return {sums, s.c_prev[at]};
  }

  const Recurrence<W>& r_;
  const Layer<W>& layer_;
  const Units units_;
  PersistentLines<W, PersistentPlan::most_units / 4> own_, of_x_;  // rows of weight_hh, and of weight_ih
  Ahead ahead_ = {};
  Done done_ = {};
};

// On the way back.
struct AheadBack {
  Gates gates;
  real before, c, dc, dy;
};
struct DoneBack {
  int64_t at = -1;
  int unit;
  UnitSlopes slopes;
};

template <class W>
class Backward {
 public:
  static constexpr bool begins_with_barrier = false;  // the last step waits for nobody
  UNROLL_INLINED Backward(const Recurrence<W>& r, const Layer<W>& layer, uint4* shared)
      : r_(r),
        layer_(layer),
        units_(layer),
        own_(shared, layer.groups, layer.handed_on.chunks),
        of_x_(shared + layer.own_pieces, layer.groups, layer.coming.chunks) {
    const LstmWindow& w = layer.w;
    load_columns(own_, units_, w, Weights<W>{w.weight_hh, w.rounded_weight_hh});
    if (of_x_.are_there())
      load_columns(of_x_, units_, w, Weights<W>{r.between.weight_ih, r.between.rounded_weight_ih});
    r.clear_ends(w.first.gate_count() * units_.hidden);
  }
  UNROLL_INLINED static int64_t step_of(const LstmWindow& w, int64_t turn) { return w.steps - 1 - turn; }
  // Nothing is handed back to the last step but what the window's gradient is.
  UNROLL_INLINED static void end(LstmStep& s, int64_t turn, int64_t) {
    if (turn > 0) return;
    for (HandOn* on : {&s.h_on, &s.c_on}) on->kept = on->mask = on->direct = on->rest = nullptr;
  }

  UNROLL_INLINED void prepare(const LstmStep& s) {
    units_.first_of_thread(layer_.w, [&](int unit, int64_t at) { ahead_ = read(s, unit, at); });
  }
  UNROLL_INLINED void multiply_coming(int64_t t) {
    of_x_.multiply(layer_.coming, t, 0, static_cast<int>(layer_.w.first.batch));
  }
  UNROLL_INLINED void compute(const LstmStep& s, int64_t t) {
    const bool is_last = t == layer_.w.steps - 1;
    const LstmBetween& b = r_.between;
    each_rows(layer_.w, [&](int first, int rows) {
      if (!is_last) own_.multiply(layer_.handed_on, t + 1, first, rows);
      with_functions_of(s, r_.exact, [&]<class F, class G>(F, G) {
        const CellSlope<F, G> cell{s, nullptr, nullptr, nullptr};
        units_.each(first, rows, [&](bool is_first, int row, int unit, int64_t at) {
          AheadBack a = is_first ? ahead_ : read(s, unit, at);
          const real d = is_last ? layer_.w.dh[at] : own_.sum(row, unit);
          if (of_x_.are_there()) {
            const real of_x = of_x_.sum(row, unit);
            a.dy += b.mask ? of_x * b.mask[t * (b.second_mask - b.mask) + at] : of_x;
          }
          const real of_h = handed_back(s.h_on, at, s.hidden, d, a.dy);
          const real of_c =
              handed_back(s.c_on, at, s.hidden, a.dc, 0) + lstm_output_gradient<F, G>(a.gates.o, a.c, of_h);
          const DoneBack done{at, unit, cell.slopes(units_.place(s, unit, at), a.gates, a.before, a.c, of_c)};
          int64_t k = s.gate_count() * (units_.first + unit);
          const auto hand = [&](real x) {
            layer_.handed_on.number(t, first + row, k++) = W::rounded(static_cast<float>(x));
          };
          const Gates& gates = done.slopes.gates;
          if (!s.coupled) hand(gates.i);
          hand(gates.f), hand(gates.g), hand(gates.o);
          finish(s, t);
          done_ = done;
        });
      });
    });
  }
  UNROLL_INLINED void finish(const LstmStep& s, int64_t) {
    if (done_.at < 0) return;
    put_slopes(s, layer_.w.dc, done_.at, units_.place(s, done_.unit, done_.at), done_.slopes);
    done_.at = -1;
  }
  // After step 0: d of h as it entered the window.
  UNROLL_INLINED void compute_entering() {
    const LstmWindow& w = layer_.w;
    if (!w.gradient_of_entering) return;
    each_rows(w, [&](int first, int rows) {
      own_.multiply(layer_.handed_on, 0, first, rows);
      units_.each(first, rows, [&](bool, int row, int unit, int64_t at) { w.dh[at] = own_.sum(row, unit); });
    });
  }

 private:
  UNROLL_INLINED AheadBack read(const LstmStep& s, int unit, int64_t at) const {
    return {units_.place(s, unit, at).read(s.gates), s.c_prev[at], s.c[at], layer_.w.dc[at],
            s.h_on.dy ? s.h_on.dy[at] : 0};
  }

  const Recurrence<W>& r_;
  const Layer<W>& layer_;
  const Units units_;
  PersistentLines<W, PersistentPlan::most_units / 16> own_, of_x_;  // columns of weight_hh, and of weight_ih
  AheadBack ahead_ = {};
  DoneBack done_ = {};
};

template <class W>
__global__ void UNROLL_THREADS(persistent_threads) lstm_forward(UNROLL_PARAMETERS Recurrence<W> r) {
  UNROLL_DYNAMIC_SHARED(shared);
  const Layer<W>& layer = r.of_block();
  Forward<W> forward(r, layer, shared);
  take_turns(r, layer, forward, [](int64_t) {});
}
template <class W>
__global__ void UNROLL_THREADS(persistent_threads) lstm_backward(UNROLL_PARAMETERS Recurrence<W> r) {
  UNROLL_DYNAMIC_SHARED(shared);
  const Layer<W>& layer = r.of_block();
  Backward<W> backward(r, layer, shared);
  take_turns(r, layer, backward, [&](int64_t turn) {
    if (turn == layer.w.steps) backward.compute_entering();
  });
}

// --- launches ---------------------------------------------------------------------------------------------------------

// sums: the gates' are there before.
void count(const LstmWindow& w, bool sums) {
  const LstmStep& s = w.first;
  const int64_t n = s.batch * s.hidden, of_steps = w.steps * n, of_gates = s.gate_count() * of_steps;
  sums ? changed(s.gates, of_gates) : given(s.gates, of_gates);
  given(s.c_prev, n, of_steps), given(s.c, of_steps);
  given(s.h, of_steps);
  given(s.c_after, s.c_after ? of_steps : 0), given(s.peepholes, s.peephole_count() * s.hidden);
  given(w.entering, n), given(w.dh, n), given(w.bias, s.gate_count() * s.hidden), given(w.dc, n);
  check_hand_on(s.h_on, s.batch, s.hidden, w.steps), check_hand_on(s.c_on, s.batch, s.hidden, w.steps);
  check_rounded(s.rounded_gates, s.gate_count() * n, w.steps);
}
void count_weights(const LstmWindow& w, const real* weights, const void* rounded) {
  const int64_t n = w.first.gate_count() * w.first.hidden * w.first.hidden;
  rounded ? void(given(static_cast<const uint16_t*>(rounded), n)) : void(given(weights, n));
}

// The memory of a launch: the barrier's numbers, then what is handed on.
class Room {
 public:
  Room(int64_t blocks, int64_t operands, int64_t operand_bytes) {
    const int64_t of_barrier = (blocks * int64_t{sizeof(unsigned)} + 255) / 256 * 256;
    memory_ =
        static_cast<char*>(gpu::workspace(static_cast<std::size_t>(of_barrier + operands * operand_bytes)));
    gpu::check(cudaMemsetAsync(memory_, 0, static_cast<std::size_t>(of_barrier), gpu::stream()),
               "cudaMemsetAsync");
    come = reinterpret_cast<unsigned*>(memory_);
    memory_ += of_barrier;
  }
  template <class W>
  HandedOn<W> operand(const PersistentPlan& plan, const PersistentProduct& product) {
    auto* const numbers = reinterpret_cast<typename W::Number*>(memory_);
    memory_ += plan.operand_bytes(product);
    return {numbers, static_cast<int>(plan.rows()), static_cast<int>(product.chunks())};
  }
  unsigned* come;

 private:
  char* memory_;
};

template <class W>
bool run(void (*kernel)(Recurrence<W>), bool is_forward, const LstmPair& pair, int layers) {
  static const bool exact = is_plain("fast-functions"), together = is_plain("arrive-wait"),
                    counted = is_plain("block-flags");
  const LstmWindow* const windows[] = {&pair.lower, &pair.upper};
  const PersistentPlan& plan = pair.lower.plan;
  const PersistentProduct& product = is_forward ? plan.forward : plan.backward;
  const int64_t blocks = layers * plan.blocks;
  Room room(blocks, layers + (layers > 1 && is_forward), plan.operand_bytes(product));
  Recurrence<W> r{
      .between = pair.between, .come = room.come, .by_block = !counted, .exact = exact, .apart = !together};
  for (int k = 0; k < layers; ++k) {
    const LstmWindow& w = *windows[k];
    count(w, !is_forward || k == 0), count_weights(w, w.weight_hh, w.rounded_weight_hh);
    const bool begins = is_forward ? k == 0 : k == layers - 1;
    Layer<W>& layer = r.layers[k];
    layer.w = w;
    layer.handed_on = room.template operand<W>(plan, product);
    layer.groups = static_cast<int>(product.groups());
    layer.own_pieces = static_cast<int>(plan.shared_bytes(product) / 16);
    layer.first_block = static_cast<int>(k * plan.blocks);
    layer.lag = begins ? 0 : 2;
    const int64_t turns = w.steps + layer.lag + (w.gradient_of_entering ? 1 : 0);
    if (turns > r.ticks) r.ticks = turns;
  }
  int64_t products = 1;
  if (layers > 1) {
    const LstmBetween& b = pair.between;
    const LstmStep& s = pair.lower.first;
    const int64_t n = s.batch * s.hidden, of_steps = pair.lower.steps * n;
    count_weights(pair.upper, b.weight_ih, b.rounded_weight_ih);
    given(b.mask, n, of_steps), given(b.x, of_steps), check_rounded(b.rounded_x, n, pair.lower.steps);
    if (is_forward)
      r.layers[1].coming = r.layers[0].giving = room.template operand<W>(plan, product);
    else
      r.layers[0].coming = r.layers[1].handed_on;
    products = 2;
  }
  return launch_together(kernel, static_cast<unsigned>(blocks), persistent_threads,
                         static_cast<std::size_t>(products * plan.shared_bytes(product)), r);
}

template <class W>
constexpr LstmWindowKernels kernels_in = {
    [](const LstmWindow& w) { return run<W>(lstm_forward<W>, true, {.lower = w}, 1); },
    [](const LstmWindow& w) { return run<W>(lstm_backward<W>, false, {.lower = w}, 1); },
    [](const LstmPair& pair) { return run<W>(lstm_forward<W>, true, pair, 2); },
    [](const LstmPair& pair) { return run<W>(lstm_backward<W>, false, pair, 2); }};

}  // namespace
}  // namespace unroll::cuda

#endif

namespace unroll {

#ifdef UNROLL_DOUBLE
const PersistentKernels* persistent_kernels() { return nullptr; }
int persistent_code() { return 0; }
#else
const PersistentKernels* persistent_kernels() {
  static const PersistentKernels kernels{cuda::kernels_in<cuda::Tf32Words>, cuda::kernels_in<cuda::Bf16Words>,
                                         cuda::kernels_in<cuda::Fp16Words>};
  return &kernels;
}
int persistent_code() {
  cudaFuncAttributes code{};
  const auto* kernel = reinterpret_cast<const void*>(cuda::lstm_forward<cuda::Bf16Words>);
  gpu::use_device();
  gpu::check(cudaFuncGetAttributes(&code, kernel), "cudaFuncGetAttributes");
  return code.ptxVersion;
}
#endif

}  // namespace unroll
