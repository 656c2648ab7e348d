// A recurrent layer's persistent kernels, whatever its cell. A block keeps its units' recurrent weights in shared memory. In each step it
// multiplies them with what all blocks handed on. Then the cell does with its units what the loop's kernel does. The block hands on
// what others wait for, says that it has come, and puts down the rest while it waits.
//
// The idea is that of Diamos et al. 2016, "Persistent RNNs".
//
// A cell has static members for one unit: element `at` of [batch, hidden] is unit j of its row. F and G are its functions.
//   Step                                          its arguments (kernels.h)
//   go_on(step, second, t), each_hand_on(step, use)   its pointers, and its states on their way
//   with_functions(step, exact, use)              use(F, G)
//   Ahead, read(step, at, j, sums, bias)          what a step reads besides the product; sums: those of x are there
//   add_x(step, ahead, sum)                       sum(gate): the block's sum of x
//   Done, values<F, G>(step, at, j, ahead, sum)   sum(gate): that of h. done.h: the state on its way
//   put(step, at, j, done)                        puts down what is not handed on
//   AheadBack, DoneBack, read_back, slopes, put_back    the same on the way back
//   each_slope(step, done, use)                   the gradients that are handed on, gate by gate
//   count(window, sums)                           checks a launch's memory. sums: those of the gates are there before
//   part_bytes(plan)                              if there is one: memory for row sums' parts
#pragma once

#include "framework/kernels/cuda/fast.h"
#include "framework/kernels/cuda/persistent_steps.h"
#include "framework/plain.h"

namespace unroll::cuda {

// What both ways share: a block's units, and its lines of weight_hh and, of two layers' second, of weight_ih.
template <class W, class Cell, int most_tiles>
class Way {
 public:
  UNROLL_INLINED void multiply_coming(int64_t t) {
    of_x_.multiply(layer_.coming, t, 0, static_cast<int>(layer_.w.first.batch));
  }

 protected:
  UNROLL_INLINED Way(const Recurrence<W, Cell>& r, const Layer<W, Cell>& layer, uint4* shared)
      : r_(r),
        layer_(layer),
        units_(layer),
        own_(shared, layer.groups, layer.handed_on.chunks),
        of_x_(shared + layer.own_pieces, layer.groups, layer.coming.chunks) {}
  // load(lines, weights): of both matrices
  template <class Load>
  UNROLL_INLINED void load_lines(Load load) const {
    load(own_, Weights<W>{layer_.w.weight_hh, layer_.w.rounded_weight_hh});
    if (of_x_.are_there()) load(of_x_, Weights<W>{r_.between.weight_ih, r_.between.rounded_weight_ih});
  }

  const Recurrence<W, Cell>& r_;
  const Layer<W, Cell>& layer_;
  const Units units_;
  PersistentLines<W, most_tiles> own_, of_x_;
};

// Its lines are rows of the matrices.
template <class W, class Cell>
class Forward : public Way<W, Cell, PersistentPlan::most_units / 4> {
  using Base = Way<W, Cell, PersistentPlan::most_units / 4>;
  using Step = typename Cell::Step;
  struct Done {
    int64_t at = -1;  // none
    int64_t unit;
    typename Cell::Done of_cell;
    real x;  // of the upper layer
  };

 public:
  static constexpr bool begins_with_barrier = true;
  UNROLL_INLINED Forward(const Recurrence<W, Cell>& r, const Layer<W, Cell>& layer, uint4* shared)
      : Base(r, layer, shared) {
    const auto& w = layer.w;
    this->load_lines([&](const auto& lines, const Weights<W>& weights) {
      load_rows(lines, units_, w.first.gate_count(), weights);
    });
    r.clear_ends(units_.hidden);
    units_.each(0, static_cast<int>(w.first.batch), [&](bool, int row, int unit, int64_t at) {
      layer.handed_on.number(0, row, units_.first + unit) = W::rounded(static_cast<float>(w.entering[at]));
    });
  }
  UNROLL_INLINED static int64_t step_of(const RecurrentWindow<Step>&, int64_t turn) { return turn; }
  // After the last step there is none that its states are handed on to.
  UNROLL_INLINED static void end(Step& s, int64_t turn, int64_t turns) {
    if (turn < turns - 1) return;
    Cell::each_hand_on(
        s, [](HandOn& on) { on.kept = on.mask = nullptr, on.met = on.entering = nullptr, on.rounded = {}; });
  }

  UNROLL_INLINED void prepare(const Step& s) {
    units_.first_of_thread(s.batch, [&](int unit, int64_t at) { ahead_ = read(s, unit, at); });
  }
  UNROLL_INLINED void compute(const Step& s, int64_t t, GridBarrier&) {
    const int gates = static_cast<int>(s.gate_count());
    each_rows(static_cast<int>(s.batch), [&](int first, int rows) {
      own_.multiply(layer_.handed_on, t, first, rows);
      Cell::with_functions(s, r_.exact, [&]<class F, class G>(F, G) {
        units_.each(first, rows, [&](bool is_first, int row, int unit, int64_t at) {
          typename Cell::Ahead a = is_first ? ahead_ : read(s, unit, at);
          const auto sum_of = [&](const auto& lines) {
            return [&, line = unit * gates](int gate) { return lines.sum(row, line + gate); };
          };
          if (of_x_.are_there()) Cell::add_x(s, a, sum_of(of_x_));
          Done done{at, units_.first + unit,
                    Cell::template values<F, G>(s, at, units_.first + unit, a, sum_of(own_)), 0};
          const HandedElement& h = done.of_cell.h;
          layer_.handed_on.number(t + 1, first + row, done.unit) = W::rounded(static_cast<float>(h.entering));
          if (layer_.giving.numbers) {
            const BetweenLayers& b = r_.between;
            done.x = b.mask ? h.state * b.mask[t * (b.second_mask - b.mask) + at] : h.state;
            layer_.giving.number(t, first + row, done.unit) = W::rounded(static_cast<float>(done.x));
          }
          finish(s, t);
          done_ = done;
        });
      });
    });
  }
  // Puts down what the last unit of this thread left.
  UNROLL_INLINED void finish(const Step& s, int64_t t) {
    const int64_t at = done_.at;
    if (at < 0) return;
    done_.at = -1;
    Cell::put(s, at, done_.unit, done_.of_cell);
    s.h[at] = done_.of_cell.h.state;
    put(s.h_on, at, done_.of_cell.h);
    if (!layer_.giving.numbers) return;
    const BetweenLayers& b = r_.between;
    if (b.x) b.x[t * (b.second_x - b.x) + at] = done_.x;
    put_rounded(b.rounded_x, t * s.batch * s.hidden + at, done_.x);
  }

 protected:
  UNROLL_INLINED typename Cell::Ahead read(const Step& s, int unit, int64_t at) const {
    return Cell::read(s, at, units_.first + unit, !of_x_.are_there(), layer_.w.bias);
  }

  using Base::r_, Base::layer_, Base::units_, Base::own_, Base::of_x_;
  typename Cell::Ahead ahead_ = {};
  Done done_ = {};
};

// Its lines are columns.
template <class W, class Cell>
class Backward : public Way<W, Cell, PersistentPlan::most_units / 16> {
  using Base = Way<W, Cell, PersistentPlan::most_units / 16>;
  using Step = typename Cell::Step;
  struct Ahead {
    typename Cell::AheadBack of_cell;
    real dy;
  };
  struct Done {
    int64_t at = -1;
    int64_t unit;
    typename Cell::DoneBack of_cell;
  };

 public:
  static constexpr bool begins_with_barrier = false;  // the last step waits for nobody
  UNROLL_INLINED Backward(const Recurrence<W, Cell>& r, const Layer<W, Cell>& layer, uint4* shared)
      : Base(r, layer, shared) {
    const int64_t gates = layer.w.first.gate_count();
    this->load_lines(
        [&](const auto& lines, const Weights<W>& weights) { load_columns(lines, units_, gates, weights); });
    r.clear_ends(gates * units_.hidden);
  }
  UNROLL_INLINED static int64_t step_of(const RecurrentWindow<Step>& w, int64_t turn) {
    return w.steps - 1 - turn;
  }
  // Nothing is handed back to the last step but what the window's gradient is.
  UNROLL_INLINED static void end(Step& s, int64_t turn, int64_t) {
    if (turn > 0) return;
    Cell::each_hand_on(s, [](HandOn& on) { on.kept = on.mask = on.direct = on.rest = nullptr; });
  }

  UNROLL_INLINED void prepare(const Step& s) {
    units_.first_of_thread(s.batch, [&](int unit, int64_t at) { ahead_ = read(s, unit, at); });
  }
  UNROLL_INLINED void compute(const Step& s, int64_t t, GridBarrier&) {
    const bool is_last = t == layer_.w.steps - 1;
    const BetweenLayers& b = r_.between;
    each_rows(static_cast<int>(s.batch), [&](int first, int rows) {
      if (!is_last) own_.multiply(layer_.handed_on, t + 1, first, rows);
      Cell::with_functions(s, r_.exact, [&]<class F, class G>(F, G) {
        units_.each(first, rows, [&](bool is_first, int row, int unit, int64_t at) {
          Ahead a = is_first ? ahead_ : read(s, unit, at);
          const real d = is_last ? layer_.w.dh[at] : own_.sum(row, unit);
          if (of_x_.are_there()) {
            const real of_x = of_x_.sum(row, unit);
            a.dy += b.mask ? of_x * b.mask[t * (b.second_mask - b.mask) + at] : of_x;
          }
          const int64_t j = units_.first + unit;
          const real of_h = handed_back(s.h_on, at, s.hidden, d, a.dy);
          const Done done{at, j, Cell::template slopes<F, G>(s, at, j, a.of_cell, of_h)};
          int64_t k = s.gate_count() * j;
          Cell::each_slope(s, done.of_cell, [&](real x) {
            layer_.handed_on.number(t, first + row, k++) = W::rounded(static_cast<float>(x));
          });
          finish(s, t);
          done_ = done;
        });
      });
    });
  }
  UNROLL_INLINED void finish(const Step& s, int64_t) {
    if (done_.at < 0) return;
    Cell::put_back(s, layer_.w.carried, done_.at, done_.unit, done_.of_cell);
    done_.at = -1;
  }
  // After step 0: d of h as it entered the window.
  UNROLL_INLINED void compute_entering() {
    const auto& w = layer_.w;
    if (!w.gradient_of_entering) return;
    each_rows(static_cast<int>(w.first.batch), [&](int first, int rows) {
      own_.multiply(layer_.handed_on, 0, first, rows);
      units_.each(first, rows, [&](bool, int row, int unit, int64_t at) { w.dh[at] = own_.sum(row, unit); });
    });
  }

 protected:
  UNROLL_INLINED Ahead read(const Step& s, int unit, int64_t at) const {
    return {Cell::read_back(s, layer_.w.carried, at, units_.first + unit), s.h_on.dy ? s.h_on.dy[at] : 0};
  }

  using Base::r_, Base::layer_, Base::units_, Base::own_, Base::of_x_;
  Ahead ahead_ = {};
  Done done_ = {};
};

// A cell that needs more than its own units has other ways.
template <class W, class Cell>
struct Ways {
  using Forward = cuda::Forward<W, Cell>;
  using Backward = cuda::Backward<W, Cell>;
};

template <class W, class Cell>
__global__ void UNROLL_THREADS(persistent_threads)
    persistent_forward(UNROLL_PARAMETERS Recurrence<W, Cell> r) {
  UNROLL_DYNAMIC_SHARED(shared);
  const Layer<W, Cell>& layer = r.of_block();
  typename Ways<W, Cell>::Forward forward(r, layer, shared);
  take_turns(r, layer, forward, [](int64_t) {});
}
template <class W, class Cell>
__global__ void UNROLL_THREADS(persistent_threads)
    persistent_backward(UNROLL_PARAMETERS Recurrence<W, Cell> r) {
  UNROLL_DYNAMIC_SHARED(shared);
  const Layer<W, Cell>& layer = r.of_block();
  typename Ways<W, Cell>::Backward backward(r, layer, shared);
  take_turns(r, layer, backward, [&](int64_t turn) {
    if (turn == layer.w.steps) backward.compute_entering();
  });
}

// --- launches ---------------------------------------------------------------------------------------------------------

template <class Step>
void count_window(const RecurrentWindow<Step>& w) {
  const Step& s = w.first;
  const int64_t n = s.batch * s.hidden;
  given(s.h, w.steps * n), given(w.entering, n), given(w.dh, n), given(w.carried, n);
  given(w.bias, s.gate_count() * s.hidden), check_hand_on(s.h_on, s.batch, s.hidden, w.steps);
}
template <class Step>
void count_weights(const RecurrentWindow<Step>& w, const real* weights, const void* rounded) {
  const int64_t n = w.first.gate_count() * w.first.hidden * w.first.hidden;
  rounded ? void(given(static_cast<const uint16_t*>(rounded), n)) : void(given(weights, n));
}

// The memory of a launch: the barrier's numbers, then what is handed on, then the row sums' parts.
class Room {
 public:
  Room(int64_t blocks, int64_t operand_bytes, int64_t part_bytes) {
    const int64_t of_barrier = (blocks * int64_t{sizeof(unsigned)} + 255) / 256 * 256;
    memory_ =
        static_cast<char*>(gpu::workspace(static_cast<std::size_t>(of_barrier + operand_bytes + part_bytes)));
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
  Two* parts() { return reinterpret_cast<Two*>(memory_); }
  unsigned* come;

 private:
  char* memory_;
};

template <class W, class Cell, bool is_forward>
bool run(const WindowPair<typename Cell::Step>& pair, int layers) {
  static const bool exact = is_plain("fast-functions"), together = is_plain("arrive-wait"),
                    counted = is_plain("block-flags");
  const RecurrentWindow<typename Cell::Step>* const windows[] = {&pair.lower, &pair.upper};
  const PersistentPlan& plan = pair.lower.plan;
  const PersistentProduct& product = is_forward ? plan.forward : plan.backward;
  const int64_t blocks = layers * plan.blocks;
  const int64_t operands = layers + (layers > 1 && is_forward);
  int64_t part_bytes = 0;
  if constexpr (requires { Cell::part_bytes(plan); }) part_bytes = Cell::part_bytes(plan);
  Room room(blocks, operands * plan.operand_bytes(product), part_bytes);
  Recurrence<W, Cell> r{
      .between = pair.between, .come = room.come, .by_block = !counted, .exact = exact, .apart = !together};
  for (int k = 0; k < layers; ++k) {
    const auto& w = *windows[k];
    count_window(w), Cell::count(w, !is_forward || k == 0);
    count_weights(w, w.weight_hh, w.rounded_weight_hh);
    const bool begins = is_forward ? k == 0 : k == layers - 1;
    Layer<W, Cell>& layer = r.layers[k];
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
    const BetweenLayers& b = pair.between;
    const auto& s = pair.lower.first;
    const int64_t n = s.batch * s.hidden, of_steps = pair.lower.steps * n;
    count_weights(pair.upper, b.weight_ih, b.rounded_weight_ih);
    given(b.mask, n, of_steps), given(b.x, of_steps), check_rounded(b.rounded_x, n, pair.lower.steps);
    if (is_forward)
      r.layers[1].coming = r.layers[0].giving = room.template operand<W>(plan, product);
    else
      r.layers[0].coming = r.layers[1].handed_on;
    products = 2;
  }
  r.parts = room.parts();
  constexpr auto kernel = is_forward ? persistent_forward<W, Cell> : persistent_backward<W, Cell>;
  return launch_together(kernel, static_cast<unsigned>(blocks), persistent_threads,
                         static_cast<std::size_t>(products * plan.shared_bytes(product)), r);
}
template <class W, class Cell, bool is_forward>
bool run_window(const RecurrentWindow<typename Cell::Step>& w) {
  return run<W, Cell, is_forward>({.lower = w}, 1);
}
template <class W, class Cell, bool is_forward>
bool run_pair(const WindowPair<typename Cell::Step>& pair) {
  return run<W, Cell, is_forward>(pair, 2);
}
template <class W, class Cell>
constexpr WindowKernels<RecurrentWindow<typename Cell::Step>> window_kernels = {run_window<W, Cell, true>,
                                                                                run_window<W, Cell, false>};
template <class Cell>
const auto* persistent_kernels() {
  static constexpr PersistentKernels<RecurrentWindow<typename Cell::Step>> kernels = {
      window_kernels<Tf32Words, Cell>, window_kernels<Bf16Words, Cell>, window_kernels<Fp16Words, Cell>};
  return &kernels;
}

}  // namespace unroll::cuda
