// The measurements of lesson 13, and its check.
#pragma once

#include <string>
#include <vector>

#include "examples/lessons/lesson.h"
#include "framework/loss.h"
#include "framework/profile.h"
#include "layers/recurrent/lstm.h"

using namespace unroll;

namespace lessons {

inline constexpr int batch = 20, width = 32, units = 64, piece = 12, window = 96;
inline constexpr int lengths[] = {12, 24, 48, 96};  // of windows, in steps

struct Layer {
  explicit Layer(Engine engine)
      : lstm(params / "lstm", {.input = width, .hidden = units, .forget_bias = 3, .engine = engine}) {}
  ParameterSet params{13};
  Lstm lstm;
};

inline Tensor numbers(int steps, int columns, const char* name) {
  RandomStream random(13, name);
  return drawn({steps, batch, columns}, random);
}

// The sum of squares over all steps, so that a window's loss is the sum of its pieces'.
inline Var loss_of(const Var& y, const Tensor& target) {
  return mean_squared_error(y, target, {.reduction = Reduction::sum});
}

// The states before each piece of x, read without a tape: nothing else is kept.
inline std::vector<RecurrentState> states_before(const Lstm& lstm, const Tensor& x) {
  std::vector<RecurrentState> before = {lstm.zero_state(batch)};
  for (int begin = 0; begin + piece < x.dim(0); begin += piece) {
    RecurrentState next = before.back();
    next = lstm(x.slice(begin, begin + piece), before.back()).state;
    before.push_back(next);
  }
  return before;
}

inline double kib_in_use() { return double(memory_statistics().in_use) / 1024; }

// A window, forward and back.
struct Reading {
  double kib = 0;     // the most memory at once, beside weights, their gradients and the window itself
  double kept = 0;    // KiB of these when the loss is there: what waits for the backward
  int64_t flops = 0;  // arithmetic of all products
  Tensor slope = {};  // the gradient of weight_hh

  double numbers_a_step(int steps) const {  // for each unit of each row
    return kept * 1024 / sizeof(real) / (double(steps) * batch * units);
  }
};

// read() returns the memory in use when the loss is there.
template <class Read>
Reading measure(Layer& layer, Read read) {
  for (int round = 0; round < 2; ++round) {  // the first round has the memory of gradients made
    layer.params.spend_gradients();
    const double before = kib_in_use();
    const int64_t flops = products_done.flops;
    reset_peak_memory();
    const double kept = read();
    if (round == 1)
      return {double(memory_statistics().peak) / 1024 - before, kept - before, products_done.flops - flops,
              layer.params.at("lstm.weight_hh_l0").var().grad().clone()};
  }
  return {};
}

inline Reading whole(Engine engine, int steps) {
  Layer layer(engine);
  const Tensor x = numbers(steps, width, "x"), target = numbers(steps, units, "target");
  return measure(layer, [&] {
    Tape tape;
    const Var loss = loss_of(layer.lstm(x, layer.lstm.zero_state(batch)).y, target);
    const double kept = kib_in_use();
    tape.backward(loss);
    return kept;
  });
}

inline void show_whole(int steps) {
  if (steps == lengths[0])
    fmt::print(
        "kept for the way back\n         composed                 fused\nsteps      KiB  numbers a unit      KiB  numbers a unit\n");
  const Reading composed = whole(Engine::composed, steps), fused = whole(Engine::fused, steps);
  fmt::print("{:5} {:8.0f} {:15.1f} {:8.0f} {:15.1f}\n", steps, composed.kept, composed.numbers_a_step(steps),
             fused.kept, fused.numbers_a_step(steps));
}

using InPieces = void (*)(const Lstm& lstm, const Tensor& x, const Tensor& target);

inline Reading pieces_of(InPieces in_pieces, int steps) {
  Layer layer(Engine::fused);
  const Tensor x = numbers(steps, width, "x"), target = numbers(steps, units, "target");
  return measure(layer, [&] { return in_pieces(layer.lstm, x, target), 0.0; });
}

// Windows of one piece, as in lesson 6: the state is handed on, its gradient is not.
inline void truncate(const Lstm& lstm, const Tensor& x, const Tensor& target) {
  RecurrentState state = lstm.zero_state(batch);
  for (int begin = 0; begin < x.dim(0); begin += piece) {
    Tape tape;
    const auto [y, next] = lstm(x.slice(begin, begin + piece), state);
    tape.backward(loss_of(y, target.slice(begin, begin + piece)));
    state = next;
  }
}

// With the gradient of h alone handed on, or of c.
template <bool h_is_handed_on, bool c_is_handed_on>
void if_handed_on(const Lstm& lstm, const Tensor& x, const Tensor& target) {
  const std::vector<RecurrentState> before = states_before(lstm, x);
  Tensor dh = Tensor::zeros({1, batch, units}), dc = Tensor::zeros({1, batch, units});
  for (size_t k = before.size(); k-- > 0;) {
    Tape tape;
    const int begin = static_cast<int>(k) * piece;
    const Var h = tape.watch(before[k].h), c = tape.watch(before[k].c);
    const auto [y, next] = lstm(x.slice(begin, begin + piece), RecurrentVars{h, c});
    Var objective = loss_of(y, target.slice(begin, begin + piece));
    if (h_is_handed_on) objective += sum(next.h * dh);
    if (c_is_handed_on) objective += sum(next.c * dc);
    tape.backward(objective);
    dh = h.grad().clone(), dc = c.grad().clone();
  }
}

inline double off_by(const Reading& yours, const Reading& other) {  // relative to the other
  return distance(yours.slope, other.slope) / norm(other.slope);
}

inline void draw_memory(InPieces in_pieces) {
  Chart chart{
      .title = "Memory of one window, forward and back",
      .description =
          "It grows with the window; the fused layer needs a part of it, pieces hardly more with the window",
      .x_name = "steps in the window",
      .y_name = "KiB",
      .series = {{.name = "composed", .points = true},
                 {.name = "fused", .points = true},
                 {.name = "fused, in pieces of 12", .points = true}}};
  for (const int steps : lengths) {
    const double kib[] = {whole(Engine::composed, steps).kib, whole(Engine::fused, steps).kib,
                          pieces_of(in_pieces, steps).kib};
    for (size_t k = 0; k < 3; ++k) chart.series[k].x.push_back(steps), chart.series[k].y.push_back(kib[k]);
  }
  draw(chart);
}

inline void check_pieces(InPieces in_pieces) {
  const Reading all = whole(Engine::fused, window), yours = pieces_of(in_pieces, window);
  const Reading truncated = pieces_of(truncate, window);
  fmt::print("\nat most, forward and back\n{} steps, fused     KiB   arithmetic   gradient off by\n", window);
  fmt::print("one tape       {:8.0f} {:12.2f}\n", all.kib, 1.0);
  const auto show = [&](const char* name, const Reading& reading) {
    fmt::print("{:<14} {:8.0f} {:12.2f} {:17.1e}\n", name, reading.kib,
               double(reading.flops) / double(all.flops), off_by(reading, all));
  };
  show("truncated", truncated);
  show("your pieces", yours);
  draw_memory(in_pieces);

  if (off_by(yours, all) < 1e-4) {
    if (yours.kib > all.kib / 2)
      wrong("the gradient is right, but the pieces took {:.0f} KiB, one tape takes {:.0f}.", yours.kib,
            all.kib);
    right(
        "the gradient of {} steps from tapes of {}: {:.0f} KiB instead of {:.0f}, for {:.2f} times the arithmetic. "
        "Truncation needs as little memory, and its gradient is off by {:.0f} %.",
        window, piece, yours.kib, all.kib, double(yours.flops) / double(all.flops),
        100 * off_by(truncated, all));
  } else if (norm(yours.slope) < 1e-4 * norm(all.slope)) {
    wrong("the weights got no gradient (its norm is {:.1e}): where is the piece's own loss?",
          norm(yours.slope));
  } else if (off_by(yours, truncated) < 1e-4) {
    wrong(
        "this is truncation, {:.0f} % off: what later pieces say reaches no weight of this one. dh and dc must enter at "
        "the state in which the piece ends, next.h and next.c.",
        100 * off_by(yours, all));
  } else if (off_by(yours, pieces_of(if_handed_on<true, false>, window)) < 1e-4) {
    wrong("the gradient is {:.1f} % off: that of h is handed on, that of c is not.",
          100 * off_by(yours, all));
  } else if (off_by(yours, pieces_of(if_handed_on<false, true>, window)) < 1e-4) {
    wrong("the gradient is {:.1f} % off: that of c is handed on, that of h is not.",
          100 * off_by(yours, all));
  } else {
    wrong("the gradient is {:.1f} % off. Is the piece's own loss in the sum once, and dh and dc each once?",
          100 * off_by(yours, all));
  }
}

}  // namespace lessons

using namespace lessons;
