// An LSTM's case as a window that engines are compared on.
#pragma once

#include "tests/layers/agreement.h"
#include "tests/layers/lstm_cases.h"

namespace unroll {

inline WindowCase window_of(const LstmCase& c) {
  return {
      .name = c.name(),
      .layer = [=](ParameterSet& params,
                   Engine engine) { return RecurrentLayer(Lstm(params / "lstm", c.with(engine).config)); },
      .steps = c.steps,
      .batch = c.batch,
      .lengths = c.lengths()};
}

}  // namespace unroll
