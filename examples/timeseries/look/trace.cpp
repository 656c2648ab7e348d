// Looks at a network while it forecasts.
#include "examples/timeseries/look/look_numbers.h"
#include "framework/ops.h"

namespace timeseries {

Trace trace(const SeriesNetwork& network, const Var& input, int target) {
  Trace trace;
  Window window = network.window(input, target);
  window.run = [&](const RecurrentLayer& layers, const Var& x, const RecurrentVars& state) {
    const RecurrentTrace seen = layers.trace(x, state);
    trace.gates = seen.gate_names;
    trace.cells = seen.cells;
    return RecurrentOutput{seen.y, seen.state};
  };
  trace.y = network.outputs(window);
  trace.read = window.x;
  return trace;
}

Vars trace_of_step(const SeriesNetwork& network, const Tensor& input, int target, int step) {
  Window window = network.window(input, target);
  window.run = [](const RecurrentLayer& layers, const Var& x, RecurrentVars state) {
    const int last = x.dim(0) - 1;
    const Var last_step = last > 0 ? slice(x, 0, last) : x;
    if (last > 0) {
      const NoTape constant;
      state = layers(slice(x, 0, 0, last), state).state;
    }
    const RecurrentTrace seen = layers.trace(last_step, state);
    return RecurrentOutput{seen.y, seen.state};
  };
  Vars result = network.outputs(window);
  const int column = network.plan().column_of(step, target);
  for (Var& y : result) y = slice(y, 1, column, column + 1);
  return result;
}

}  // namespace timeseries
