// The steps of a persistent kernel: which block has which units of which layer, and when a layer computes which step.
#pragma once

#include "framework/kernels/cuda/launch.h"
#include "framework/kernels/cuda/persistent.h"
#include "framework/kernels/recurrent_window.h"

namespace unroll::cuda {

// A layer of a launch. Cell: what the kernels do with one unit (persistent_layer.h).
template <class W, class Cell>
struct Layer {
  RecurrentWindow<typename Cell::Step> w = {};
  HandedOn<W> handed_on = {};  // from step to step
  HandedOn<W> coming = {};     // from the other layer: x of the upper; back the gates' gradients of the upper
  HandedOn<W> giving = {};     // forward, to the upper: its x
  int groups = 0, own_pieces = 0;  // of lines; and of 16 bytes of shared memory, for the recurrent product
  int first_block = 0;
  int lag = 0;  // how many ticks after the other layer a step comes
};
// One layer, or two of which the second has the blocks from its first_block on.
template <class W, class Cell>
struct Recurrence {
  Layer<W, Cell> layers[2] = {};
  BetweenLayers between = {};
  unsigned* come = nullptr;  // of the barrier
  Two* parts = nullptr;      // the blocks' shares of row sums, if the cell has some
  bool by_block = true;      // the barrier has a number for each block
  bool exact = false;        // functions of the cell as all other kernels have them
  bool apart = true;         // blocks do between coming and waiting what nobody waits for
  int64_t ticks = 0;         // in each of which every layer may compute a step

  UNROLL_KERNEL const Layer<W, Cell>& of_block() const {
    const int first = layers[1].first_block;
    return layers[first > 0 && static_cast<int>(blockIdx.x) >= first ? 1 : 0];
  }
  // Puts zeros behind all lines of `depth` numbers that are handed on. By all threads of the grid, before they first wait for each other.
  UNROLL_KERNEL void clear_ends(int64_t depth) const {
    for (const Layer<W, Cell>& layer : layers)
      for (const HandedOn<W>* lines : {&layer.handed_on, &layer.giving})
        if (lines->numbers) lines->clear_ends(depth);
  }
};

// Moves a pointer from step 0 to step t: `first` is that of step 0, `second` that of step 1.
template <class T>
UNROLL_KERNEL void go_on(T*& first, const std::type_identity_t<T>* second, int64_t t) {
  if (first) first += t * (second - first);
}
UNROLL_KERNEL inline void go_on(RoundedCopy& copy, const RoundedCopy& second, int64_t t) {
  auto* data = static_cast<char*>(copy.data);
  go_on(data, static_cast<const char*>(second.data), t);
  copy.data = data;
}
UNROLL_KERNEL inline void go_on(HandOn& on, const HandOn& second, int64_t t) {
  go_on(on.share, second.share, t), go_on(on.kept, second.kept, t), go_on(on.mask, second.mask, t);
  go_on(on.before, second.before, t), go_on(on.met, second.met, t), go_on(on.entering, second.entering, t);
  go_on(on.dy, second.dy, t), go_on(on.direct, second.direct, t), go_on(on.rest, second.rest, t);
  go_on(on.rest_of_before, second.rest_of_before, t), go_on(on.rounded, second.rounded, t);
}

// The units of a block: use(whether it is the first of this thread, row - first_row, unit of the block, element of [batch, hidden]),
// for each row that is multiplied at once.
struct Units {
  int64_t first, hidden;
  int count;
  template <class AnyLayer>
  UNROLL_KERNEL explicit Units(const AnyLayer& layer)
      : first((static_cast<int>(blockIdx.x) - layer.first_block) * layer.w.plan.units),
        hidden(layer.w.first.hidden),
        count(static_cast<int>(layer.w.plan.units)) {}
  template <class Use>
  UNROLL_INLINED void each(int first_row, int rows, Use use) const {
    for (int i = static_cast<int>(threadIdx.x); i < rows * count; i += persistent_threads) {
      const int row = i / count, unit = i % count;
      if (first + unit < hidden)
        use(first_row == 0 && i < persistent_threads, row, unit, (first_row + row) * hidden + first + unit);
    }
  }
  // use(unit of the block, element): the first of this thread, if it has one.
  template <class Use>
  UNROLL_INLINED void first_of_thread(int64_t batch, Use use) const {
    const int i = static_cast<int>(threadIdx.x), row = i / count, unit = i % count;
    if (row < (batch < PersistentPlan::rows_at_once ? batch : PersistentPlan::rows_at_once) &&
        first + unit < hidden)
      use(unit, row * hidden + first + unit);
  }
};
// use(first row, rows) for all rows of the batch, so many at once. Threads of the block may then use their sums again.
template <class Use>
UNROLL_INLINED void each_rows(int batch, Use use) {
  constexpr int at_once = static_cast<int>(PersistentPlan::rows_at_once);
  for (int first = 0; first < batch; first += at_once) {
    if (first > 0) __syncthreads();
    use(first, batch - first < at_once ? batch - first : at_once);
  }
}

// Recurrent or input weights [gates·hidden, hidden], as floats or in the kernel's 16 bits.
template <class W>
struct Weights {
  const real* floats;
  const void* rounded;
  UNROLL_KERNEL real operator()(int64_t i) const {
    if constexpr (W::of_word == 2)
      if (rounded)
        return static_cast<real>(static_cast<float>(static_cast<const typename W::Number*>(rounded)[i]));
    return floats[i];
  }
};
// A block's lines of weights. Rows: gates side by side, unit by unit.
template <class W, class Lines>
UNROLL_KERNEL void load_rows(const Lines& lines, const Units& units, int64_t gates, Weights<W> weights) {
  lines.load([&, n = static_cast<int>(gates), hidden = units.hidden](int line, int k, auto& numbers) {
    const int64_t unit = units.first + line / n;
    const int64_t first = (line % n * hidden + unit) * hidden + k;
    const int64_t left = line < n * units.count && unit < hidden ? hidden - k : 0;
    constexpr int count = std::extent_v<std::remove_reference_t<decltype(numbers)>>;
    UNROLL_ALL
    for (int j = 0; j < count; ++j) numbers[j] = j < left ? weights(first + j) : 0;
  });
}
// Columns, whose k are gates side by side, unit by unit.
template <class W, class Lines>
UNROLL_KERNEL void load_columns(const Lines& lines, const Units& units, int64_t gates, Weights<W> weights) {
  lines.load([&, n = static_cast<int>(gates)](int line, int k, auto& numbers) {
    const bool is_one = line < units.count && units.first + line < units.hidden;
    const int64_t column = units.first + line;
    const int width = static_cast<int>(units.hidden);
    int row = k / n, gate = k % n;
    constexpr int count = std::extent_v<std::remove_reference_t<decltype(numbers)>>;
    UNROLL_ALL
    for (int j = 0; j < count; ++j) {
      numbers[j] = is_one && row < width ? weights(column + int64_t{gate * width + row} * width) : 0;
      if (++gate == n) gate = 0, ++row;
    }
  });
}

// Three steps' pointers, the places in turn. One thread makes them for the block, a step ahead of the reading.
template <class Step>
struct StepPlaces {
  static constexpr int pieces = (sizeof(Step) + sizeof(uint4) - 1) / sizeof(uint4);
  uint4 memory[3][pieces];
  UNROLL_INLINED Step& operator[](int64_t turn) {
    void* const place = memory[static_cast<unsigned>(turn) % 3];
    return *static_cast<Step*>(place);
  }
};
inline constexpr unsigned step_maker = warp_lanes;  // not the one that says that the block has come

// Takes the layer's steps in their ticks. Between two ticks a block puts down what the step left, reads what the next one wants,
// and multiplies what came from the other layer, while others come. rest(turn): after a turn that is no step.
template <class W, class Cell, class Way, class Rest>
UNROLL_INLINED void take_turns(const Recurrence<W, Cell>& r, const Layer<W, Cell>& layer, Way& way,
                               Rest rest) {
  using Step = typename Cell::Step;
  static_assert(sizeof(StepPlaces<Step>) <= PersistentPlan::step_bytes);
  UNROLL_SHARED(places, StepPlaces<Step>);
  const int64_t turns = layer.w.steps;
  const auto is_one = [&](int64_t turn) { return turn >= 0 && turn < turns; };
  const auto step_of = [&](int64_t turn) { return Way::step_of(layer.w, turn); };
  const auto make = [&](int64_t turn) {
    if (threadIdx.x != step_maker || !is_one(turn)) return;
    Step& s = places[turn];
    s = layer.w.first;
    Cell::go_on(s, layer.w.second, step_of(turn));
    Way::end(s, turn, turns);
  };
  GridBarrier barrier(r.come, r.by_block);
  make(-layer.lag);
  Way::begins_with_barrier ? barrier.arrive() : __syncthreads();
  for (int64_t tick = 0; tick <= r.ticks; ++tick) {
    const int64_t turn = tick - layer.lag;
    const bool is_step = is_one(turn), waits = tick < r.ticks && (tick > 0 || Way::begins_with_barrier);
    if (is_one(turn - 1)) way.finish(places[turn - 1], step_of(turn - 1));
    if (waits && !r.apart) barrier.await();
    if (is_step) way.prepare(places[turn]);
    make(turn + 1);
    if (is_step && layer.coming.chunks > 0) way.multiply_coming(step_of(turn));
    if (tick == r.ticks) break;
    if (waits && r.apart) barrier.await();
    if (is_step)
      way.compute(places[turn], step_of(turn), barrier);
    else
      rest(turn);
    if (!r.apart && is_step) way.finish(places[turn], step_of(turn));
    if (tick + 1 < r.ticks) barrier.arrive();
  }
}

}  // namespace unroll::cuda
