// Lesson 12: from the composed cell to the fused one. The page to read: examples/lessons/12-fused/README.md
#include "examples/lessons/12-fused/check.h"

// An LSTM layer over all steps, x [steps, batch, width] -> y [steps, batch, units], as the textbook has it.
Var textbook(const LstmCell& layer, const Var& x) {
  RecurrentVars state = nothing(x);
  Vars ys;
  for (int t = 0; t < x.dim(0); ++t) {
    const Var sums = linear(row(x, t), layer.weight_ih, layer.bias) + linear(state.h, layer.weight_hh);
    const auto part = [&](int k) { return slice(sums, 1, k * units, (k + 1) * units); };
    const Var i = sigmoid(part(0)), f = sigmoid(part(1)), g = tanh(part(2)), o = sigmoid(part(3));
    const Var c = f * state.c + i * g;
    state = {o * tanh(c), c};
    ys.push_back(state.h);
  }
  return unroll::stack(ys);
}

// The textbook's layer in fewer pieces: one operation, lstm_cell, does all that happens to a step's elements.
Var in_fewer_pieces(const LstmCell& layer, const Var& x) {
  RecurrentVars state = nothing(x);
  Vars ys;
  // ---- your part: make the products of x with weight_ih for all steps at once, here, before the loop.
  // linear(x, …) takes x [steps, batch, width] as it is; row(…, t) is the part of step t.
  const auto of_x = [&](int t) { return linear(row(x, t), layer.weight_ih, layer.bias); };
  // ---- end of your part
  for (int t = 0; t < x.dim(0); ++t) {
    const LstmCellOutput cell = lstm_cell(of_x(t) + linear(state.h, layer.weight_hh), state.c);
    state = {cell.h, cell.c};
    ys.push_back(state.h);
  }
  return unroll::stack(ys);
}

void lesson() {
  ParameterSet params;
  const Lstm lstm(params / "lstm", {.input = width, .hidden = units, .engine = Engine::fused});
  const LstmCell& layer = lstm.cells()[0];
  const Tensor x = random_input();

  const Stage first = measure("textbook", params, x, [&](const Var& x) { return textbook(layer, x); });
  const Stage yours =
      measure("in fewer pieces", params, x, [&](const Var& x) { return in_fewer_pieces(layer, x); });
  const Stage fused =
      measure("the library's", params, x, [&](const Var& x) { return lstm(x, lstm.zero_state(batch)).y; });
  check_stages(first, yours, fused);
}
