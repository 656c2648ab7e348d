// Lesson 6: truncation. The page to read: examples/lessons/06-truncation/README.md
#include "examples/lessons/06-truncation/check.h"

// Reads one window of time, [steps, batch, 2]. `state` is what the window before has left.
Var read_window(const Lstm& lstm, const Tensor& window, RecurrentState& state) {
  const auto [y, next] = lstm(window, state);
  // ---- your part: `state` becomes what the window after this one begins with

  // ---- end of your part
  return y;  // [steps, batch, units]
}

// Learns to add two numbers out of 50, with windows of `bptt` steps. The mean squared error of late training.
double train(int bptt) {
  ParameterSet params;
  const Lstm lstm(params / "lstm", {.input = 2, .hidden = 24, .forget_bias = 3});
  const Dense out(params / "out", {.in = 24, .out = 1});
  Adam adam(params, {.learning_rate = 1e-2});
  const AddingTask task{.steps = 50};
  double error = 0;
  for (int number = 0; number < batches; ++number) {
    const auto [x, sum] = task.draw(number);
    RecurrentState state = lstm.zero_state(task.batch);
    // Windows of bptt steps, the first one shorter if it does not divide 50.
    for (int begin = 0, end = (task.steps - 1) % bptt + 1; begin < task.steps; begin = end, end += bptt) {
      Tape tape;  // of this window alone: here the gradient's way back ends
      const Var y = read_window(lstm, x.slice(begin, end), state);
      if (end < task.steps) continue;  // the sum is asked for at the end
      const Var loss = mean_squared_error(out(row(y, end - begin - 1)), sum);
      tape.backward(loss);
      adam.step({.max_norm = 1});
      if (number >= batches - 50) error += loss.item() / 50;
    }
  }
  return error;
}

void lesson() {
  check_state(read_window);
  check_errors(train);
}
