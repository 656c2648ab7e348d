// The sLSTM (Beck et al. 2024), its gates of x alone: exponential gates, a memory c that is divided by a normaliser n, and a
// stabiliser m that keeps both in range. It teaches a cell whose state is more than h and c: c_parts numbers of a unit.
//   i = exp ĩ, f = σ(f̃), o = σ(õ), z = tanh z̃ of x    c = f ⊙ c + i ⊙ z    n = f ⊙ n + i    h = o ⊙ c / n; i, f are divided by e^m
// The task: of marked and unmarked letters, the last that was marked. An exponential gate can outweigh all that was before.
#include <cstdio>

#include "layers/recurrent/recurrent.h"
#include "unroll.h"

using namespace unroll;

struct SlstmCell {
  static constexpr const char* name = "slstm";
  static constexpr bool has_c = true;
  static constexpr int c_parts = 3;  // c, n and m: [batch, 3*hidden]

  explicit SlstmCell(const LayerScope& scope)
      : weight(scope.add("weight_ih", {4 * scope.hidden, scope.input}).var()),
        bias(scope.add("bias", {4 * scope.hidden}).var()) {}

  RecurrentVars step(const Var& x, const Var&, const RecurrentVars& before) const {
    const Vars sums = chunk(linear(x, weight, bias), 4, 1), state = chunk(before.c, 3, 1);
    const Var log_f = -softplus(-sums[1]) + state[2];  // as e^(m before) is part of what it forgets
    const Var m = maximum(log_f, sums[0]);
    const Var i = exp(sums[0] - m), f = exp(log_f - m);
    const Var c = f * state[0] + i * tanh(sums[2]), n = f * state[1] + i;
    return {sigmoid(sums[3]) * c / n, concat({c, n, m}, 1)};
  }

  Var weight, bias;
};

int main() {
  constexpr int letters = 8, steps = 16, batch = 32;
  ParameterSet params;
  const Embedding embed(params / "embed",
                        {.vocab = 2 * letters, .dim = 24});  // marked ones behind the others
  const Recurrent<SlstmCell> slstm(params / "slstm", {.input = 24, .hidden = 32, .layers = 2});
  const Dense out(params / "out", {.in = 32, .out = letters});
  Adam adam(params, {.learning_rate = 1e-2});
  RandomStream random(1, "letters");
  double right = 0;  // of late batches, each scored before it is learned from
  for (int step = 1; step <= 200; ++step) {
    IdTensor x({steps, batch}), last({batch});
    for (int t = 0; t < steps; ++t)
      for (int b = 0; b < batch; ++b) {
        const auto letter = static_cast<int32_t>(random.below(letters));
        const bool marked = t == 0 || random.below(5) == 0;
        x[t].span()[static_cast<size_t>(b)] = letter + (marked ? letters : 0);
        if (marked) last.span()[static_cast<size_t>(b)] = letter;
      }
    Tape tape;
    const Var logits = out(row(slstm(embed(x), slstm.zero_state(batch)).y, -1));
    const IdTensor found = argmax(logits);
    int same = 0;
    for (int b = 0; b < batch; ++b) same += found(b) == last(b);
    right = 0.95 * right + 0.05 * same / batch;
    const Var loss = softmax_cross_entropy(logits, last);
    tape.backward(loss);
    adam.step({.max_norm = 1});
    if (step % 50 == 0)
      std::printf("step %3d  loss %.4f  right %.3f\n", step, static_cast<double>(loss.item()), right);
  }
  return right > 0.95 ? 0 : 1;
}
