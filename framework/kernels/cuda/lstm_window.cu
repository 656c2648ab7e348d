// An LSTM's recurrence over a window, one kernel each way. A block keeps its units' recurrent weights in shared
// memory. In each step it multiplies them with what all blocks handed on, and puts the sums where the loop's product
// would have put them. Then it does with its units what the loop's kernel does, and all blocks wait for each other.
//
// The idea is that of Diamos et al. 2016, "Persistent RNNs".
#include "framework/kernels/cuda/launch.h"
#include "framework/kernels/cuda/lstm_cell.h"
#include "framework/kernels/cuda/persistent.h"
#include "framework/kernels/lstm_window.h"

#ifndef UNROLL_DOUBLE  // sums are in float

namespace unroll::cuda {
namespace {

// Moves a pointer from step 0 to step t: `first` is that of step 0, `second` that of step 1.
template <class T>
UNROLL_KERNEL void go_on(T*& first, const std::type_identity_t<T>* second, int64_t t) {
  if (first) first += t * (second - first);
}
UNROLL_KERNEL inline void go_on(HandOn& on, const HandOn& second, int64_t t) {
  go_on(on.share, second.share, t), go_on(on.kept, second.kept, t), go_on(on.mask, second.mask, t);
  go_on(on.before, second.before, t), go_on(on.met, second.met, t), go_on(on.entering, second.entering, t);
  go_on(on.dy, second.dy, t), go_on(on.direct, second.direct, t), go_on(on.rest, second.rest, t);
  go_on(on.rest_of_before, second.rest_of_before, t);
}
UNROLL_KERNEL inline LstmStep step_at(const LstmWindow& w, int64_t t) {
  LstmStep s = w.first;
  go_on(s.gates, w.second.gates, t), go_on(s.c_prev, w.second.c_prev, t), go_on(s.c, w.second.c, t);
  go_on(s.h, w.second.h, t), go_on(s.c_after, w.second.c_after, t);
  go_on(s.h_on, w.second.h_on, t), go_on(s.c_on, w.second.c_on, t);
  auto* rounded = static_cast<char*>(s.rounded_gates.data);
  go_on(rounded, static_cast<const char*>(w.second.rounded_gates.data), t);
  s.rounded_gates.data = rounded;
  return s;
}
// After the last step there is none that its states are handed on to, or that hands anything back.
UNROLL_KERNEL inline void end_forward(HandOn& on) { on.met = on.entering = nullptr; }
UNROLL_KERNEL inline void end_backward(HandOn& on) { on.kept = on.mask = on.direct = on.rest = nullptr; }

// A step's pointers, which one thread makes for the block while others wait at the barrier before it.
using StepPlace = uint4[(sizeof(LstmStep) + sizeof(uint4) - 1) / sizeof(uint4)];
static_assert(sizeof(StepPlace) <= PersistentPlan::step_bytes);
inline constexpr unsigned step_maker = warp_lanes;  // not the one that waits

// Fetches what a unit's step reads besides the sums, while these are made.
UNROLL_KERNEL inline void touch_state(const LstmStep& s, int64_t at, const Unit& u) {
  for (const int64_t gate : {u.i, u.f, u.g, u.o}) touch(s.gates + gate);
  touch(s.c_prev + at);
}

template <class W>
struct Recurrence {
  LstmWindow w;
  UNROLL_KERNEL real weight_hh(int64_t i) const {
    if constexpr (W::of_word == 2)
      if (w.rounded_weight_hh)
        return static_cast<real>(
            static_cast<float>(static_cast<const typename W::Number*>(w.rounded_weight_hh)[i]));
    return w.weight_hh[i];
  }
  HandedOn<W> handed_on;
  unsigned* come;  // of the barrier
  int groups;
};

// The units of a block: use(row - first_row, unit of the block, element of [batch, hidden]), for each row that is multiplied at once.
struct Units {
  int64_t first, hidden;
  int count;
  UNROLL_KERNEL explicit Units(const LstmWindow& w)
      : first(blockIdx.x * w.plan.units), hidden(w.first.hidden), count(static_cast<int>(w.plan.units)) {}
  template <class Use>
  UNROLL_KERNEL void each(int first_row, int rows, Use use) const {
    for (int i = static_cast<int>(threadIdx.x); i < rows * count; i += persistent_threads) {
      const int row = i / count, unit = i % count;
      if (first + unit < hidden) use(row, unit, (first_row + row) * hidden + first + unit);
    }
  }
  UNROLL_KERNEL Unit place(const LstmStep& s, int unit, int64_t at) const { return {s, at, first + unit}; }
};
// use(first row, rows) for all rows of the batch, so many at once. Threads of the block may then use their sums again.
template <class Use>
UNROLL_KERNEL void each_rows(const LstmWindow& w, Use use) {
  constexpr int at_once = static_cast<int>(PersistentPlan::rows_at_once);
  const int batch = static_cast<int>(w.first.batch);
  for (int first = 0; first < batch; first += at_once) {
    use(first, batch - first < at_once ? batch - first : at_once);
    __syncthreads();
  }
}

template <class W>
__global__ void UNROLL_THREADS(persistent_threads) lstm_forward(Recurrence<W> r) {
  UNROLL_DYNAMIC_SHARED(shared);
  const LstmWindow& w = r.w;
  const Units units(w);
  const int64_t hidden = units.hidden, gates = w.first.gate_count();
  PersistentLines<W, PersistentPlan::most_units / 4> lines(shared, r.groups, r.handed_on.chunks);
  // line: gates side by side, unit by unit
  lines.load([&, n = static_cast<int>(gates)](int line, int k, auto& numbers) {
    const int64_t unit = units.first + line / n;
    const int64_t first = (line % n * hidden + unit) * hidden + k;
    const int64_t left = line < n * units.count && unit < hidden ? hidden - k : 0;
    constexpr int count = std::extent_v<std::remove_reference_t<decltype(numbers)>>;
    UNROLL_ALL
    for (int j = 0; j < count; ++j) numbers[j] = j < left ? r.weight_hh(first + j) : 0;
  });
  r.handed_on.clear_ends(hidden);
  units.each(0, static_cast<int>(w.first.batch), [&](int row, int unit, int64_t at) {
    r.handed_on.number(0, row, units.first + unit) = W::rounded(static_cast<float>(w.entering[at]));
  });
  UNROLL_SHARED(place_of_step, StepPlace);
  LstmStep& s = *reinterpret_cast<LstmStep*>(place_of_step);
  GridBarrier barrier(r.come);
  for (int64_t t = 0; t < w.steps; ++t) {
    if (threadIdx.x == step_maker) {
      s = step_at(w, t);
      if (t == w.steps - 1) end_forward(s.h_on), end_forward(s.c_on);
    }
    barrier.wait();
    each_rows(w, [&](int first, int rows) {
      units.each(first, rows,
                 [&](int, int unit, int64_t at) { touch_state(s, at, units.place(s, unit, at)); });
      lines.multiply(r.handed_on, t, first, rows);
      with_functions(s, [&]<class F, class G>(F, G) {
        units.each(first, rows, [&](int row, int unit, int64_t at) {
          const Unit place = units.place(s, unit, at);
          Gates sums = place.read(s.gates);
          if (w.bias) {
            const Unit of_bias{s, units.first + unit, units.first + unit};
            const Gates bias = of_bias.read(w.bias);
            if (!s.coupled) sums.i += bias.i;
            sums.f += bias.f, sums.g += bias.g, sums.o += bias.o;
          }
          const int line = unit * static_cast<int>(gates);  // the first of its gates' in order i f g o
          if (!s.coupled) sums.i += lines.sum(row, line);
          const int of_o = line + static_cast<int>(gates) - 1;
          sums.f += lines.sum(row, of_o - 2), sums.g += lines.sum(row, of_o - 1),
              sums.o += lines.sum(row, of_o);
          CellValue<F, G>{s}(at, place, sums);
          const real* const entering = s.h_on.entering ? s.h_on.entering : s.h_on.met ? s.h_on.met : s.h;
          r.handed_on.number(t + 1, first + row, units.first + unit) =
              W::rounded(static_cast<float>(entering[at]));
        });
      });
    });
  }
}

template <class W>
__global__ void UNROLL_THREADS(persistent_threads) lstm_backward(Recurrence<W> r) {
  UNROLL_DYNAMIC_SHARED(shared);
  const LstmWindow& w = r.w;
  const Units units(w);
  const int64_t hidden = units.hidden, gates = w.first.gate_count();
  PersistentLines<W, PersistentPlan::most_units / 16> lines(shared, r.groups, r.handed_on.chunks);
  // k: gates side by side, unit by unit
  lines.load([&, n = static_cast<int>(gates)](int line, int k, auto& numbers) {
    const bool is_one = line < units.count && units.first + line < hidden;
    const int64_t column = units.first + line;
    const int width = static_cast<int>(hidden);
    int row = k / n, gate = k % n;
    constexpr int count = std::extent_v<std::remove_reference_t<decltype(numbers)>>;
    UNROLL_ALL
    for (int j = 0; j < count; ++j) {
      numbers[j] = is_one && row < width ? r.weight_hh(column + int64_t{gate * width + row} * width) : 0;
      if (++gate == n) gate = 0, ++row;
    }
  });
  r.handed_on.clear_ends(gates * hidden);
  UNROLL_SHARED(place_of_step, StepPlace);
  LstmStep& s = *reinterpret_cast<LstmStep*>(place_of_step);
  GridBarrier barrier(r.come);
  for (int64_t t = w.steps - 1; t >= 0; --t) {
    const bool is_last = t == w.steps - 1;  // which hands back what the window's gradient is
    if (threadIdx.x == step_maker) {
      s = step_at(w, t);
      if (is_last) end_backward(s.h_on), end_backward(s.c_on);
    }
    is_last ? __syncthreads() : barrier.wait();
    each_rows(w, [&](int first, int rows) {
      units.each(first, rows, [&](int, int unit, int64_t at) {
        touch_state(s, at, units.place(s, unit, at)), touch(s.c + at), touch(w.dc + at);
      });
      if (!is_last) lines.multiply(r.handed_on, t + 1, first, rows);
      with_functions(s, [&]<class F, class G>(F, G) {
        units.each(first, rows, [&](int row, int unit, int64_t at) {
          const Gates of_unit = CellSlope<F, G>{s, w.dh, w.dc, w.dc}(
              at, units.place(s, unit, at), is_last ? w.dh[at] : lines.sum(row, unit));
          int64_t k = gates * (units.first + unit);
          const auto put = [&](real x) {
            r.handed_on.number(t, first + row, k++) = W::rounded(static_cast<float>(x));
          };
          if (!s.coupled) put(of_unit.i);
          put(of_unit.f), put(of_unit.g), put(of_unit.o);
        });
      });
    });
  }
  if (!w.gradient_of_entering) return;
  barrier.wait();
  each_rows(w, [&](int first, int rows) {
    lines.multiply(r.handed_on, 0, first, rows);
    units.each(first, rows, [&](int row, int unit, int64_t at) { w.dh[at] = lines.sum(row, unit); });
  });
}

template <class W>
bool run(void (*kernel)(Recurrence<W>), const LstmWindow& w, const PersistentProduct& product) {
  const LstmStep& s = w.first;
  const int64_t n = s.batch * s.hidden, of_steps = w.steps * n;
  changed(s.gates, s.gate_count() * of_steps), given(s.c_prev, n, of_steps), given(s.c, of_steps);
  given(s.h, of_steps);
  given(s.c_after, s.c_after ? of_steps : 0), given(s.peepholes, s.peephole_count() * s.hidden);
  const int64_t weights = s.gate_count() * s.hidden * s.hidden;
  if (w.rounded_weight_hh)
    given(static_cast<const uint16_t*>(w.rounded_weight_hh), weights);
  else
    given(w.weight_hh, weights);
  given(w.entering, n), given(w.dh, n), given(w.bias, s.gate_count() * s.hidden), given(w.dc, n);
  check_hand_on(s.h_on, s.batch, s.hidden, w.steps), check_hand_on(s.c_on, s.batch, s.hidden, w.steps);
  check_rounded(s.rounded_gates, s.gate_count() * n, w.steps);
  // The barrier's number, then what is handed on.
  constexpr int64_t apart = 256;
  const int64_t bytes = apart + w.plan.operand_bytes(product);
  auto* const memory = static_cast<char*>(gpu::workspace(static_cast<std::size_t>(bytes)));
  gpu::check(cudaMemsetAsync(memory, 0, sizeof(unsigned), gpu::stream()), "cudaMemsetAsync");
  return launch_together(kernel, static_cast<unsigned>(w.plan.blocks), persistent_threads,
                         static_cast<std::size_t>(w.plan.shared_bytes(product)),
                         {w,
                          {reinterpret_cast<typename W::Number*>(memory + apart),
                           static_cast<int>(w.plan.rows()), static_cast<int>(product.chunks())},
                          reinterpret_cast<unsigned*>(memory),
                          static_cast<int>(product.groups())});
}
template <class W>
bool forward(const LstmWindow& w) {
  return run<W>(lstm_forward<W>, w, w.plan.forward);
}
template <class W>
bool backward(const LstmWindow& w) {
  return run<W>(lstm_backward<W>, w, w.plan.backward);
}
template <class W>
constexpr LstmWindowKernels kernels_in = {forward<W>, backward<W>};

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
