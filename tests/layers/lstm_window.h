// An LSTM's case as a window that engines are compared on.
#pragma once

#include "tests/layers/agreement.h"
#include "tests/layers/lstm_cases.h"

namespace unroll {

inline WindowCase window_of(const LstmCase& c, bool resets = false) {
  WindowCase window = {
      .name = c.name(),
      .layer = [=](ParameterSet& params,
                   Engine engine) { return RecurrentLayer(Lstm(params / "lstm", c.with(engine).config)); },
      .steps = c.steps,
      .batch = c.batch,
      .lengths = c.lengths()};
  if (!resets) return window;
  window.resets = IdTensor({c.steps, c.batch});
  for (int i = 0; i < c.steps * c.batch; ++i) window.resets.data()[i] = i % 5 == 0 || i % 7 == 4;
  return window;
}

// The engine `fused` gives the same bits each time, and as a graph. Over the stand-in its threads come in another order.
inline void check_five_orders(const WindowCase& window) {
  const Results first = Window(window, Engine::fused).run();
  const auto check_same = [&](const Results& other) {
    for (size_t i = 0; i < first.size(); ++i) {
      CAPTURE(first[i].first);
      CHECK(same_bits(first[i].second, other[i].second));
    }
  };
  for (int order = 0; order < 4; ++order) check_same(Window(window, Engine::fused).run());
  check_same(played(window, Engine::fused));
}

}  // namespace unroll
