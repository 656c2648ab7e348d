// A cell of one's own: an LSTM whose input gate is a ReLU, so that it can add more than one unit at a time.
//
// It learns to add (Hochreiter and Schmidhuber 1997): two of twenty numbers in [0, 1) are marked, and the model
// must give their sum at the end. Always answering 1 has a mean squared error of 0.167.
#include <cstdio>
#include <vector>

#include "unroll.h"

using namespace unroll;

struct ReluLstmCell {
  ReluLstmCell(Scope scope, int input, int width)
      : from_x(scope / "x", {.in = input, .out = 4 * width}),
        from_h(scope / "h", {.in = width, .out = 4 * width, .bias = false}),
        hidden(width) {}

  // x [batch, input], last.h and last.c [batch, hidden]
  RecurrentVars operator()(const Var& x, const RecurrentVars& last) const {
    const Var gates = from_x(x) + from_h(last.h);
    const auto gate = [&](int k) { return slice(gates, 1, k * hidden, (k + 1) * hidden); };
    const Var i = relu(gate(0)), f = sigmoid(gate(1) + 1), g = tanh(gate(2)), o = sigmoid(gate(3));
    const Var c = f * last.c + i * g;
    return {o * tanh(c), c};
  }

  Dense from_x, from_h;
  int hidden;
};

int main() {
  constexpr int steps = 20, batch = 50, hidden = 32;
  ParameterSet params;
  const ReluLstmCell cell(params / "cell", 2, hidden);
  const Dense out(params / "out", {.in = hidden, .out = 1});
  Adam adam(params, {.learning_rate = 1e-2});
  RandomStream random(1, "sums");

  double error = 1;  // mean of late batches, each scored before it is learned from
  for (int step = 1; step <= 400; ++step) {
    std::vector<real> numbers(steps * batch * 2), sums(batch);
    for (int i = 0; i < batch; ++i) {
      const int first = static_cast<int>(random.below(10)), second = 10 + static_cast<int>(random.below(10));
      for (int t = 0; t < steps; ++t) {
        real* const at = &numbers[static_cast<size_t>((t * batch + i) * 2)];
        at[0] = static_cast<real>(random.uniform());
        at[1] = t == first || t == second ? 1 : 0;
        if (at[1] == 1) sums[static_cast<size_t>(i)] += at[0];
      }
    }
    const Tensor x = Tensor::from({steps, batch, 2}, numbers), sum = Tensor::from({batch, 1}, sums);

    Tape tape;
    RecurrentVars state{Tensor::zeros({batch, hidden}), Tensor::zeros({batch, hidden})};
    for (int t = 0; t < steps; ++t) state = cell(x[t], state);
    const Var loss = mean_squared_error(out(state.h), sum);
    tape.backward(loss);
    adam.step({.max_norm = 1});

    error = 0.95 * error + 0.05 * static_cast<double>(loss.item());
    if (step % 50 == 0) std::printf("step %3d  mean squared error %.4f\n", step, error);
  }
  return error < 0.01 ? 0 : 1;
}
