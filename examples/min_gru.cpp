// The minimal gated recurrent unit (minGRU: Feng, Tung, Ahmed, Bengio and Hajimirsadeghi 2024): a cell of your own in five lines.
// It teaches that gates of x alone make a recurrent net of one product for all steps and sums, which still counts and keeps.
//   z = σ(W_z x + b_z)    h̃ = W_h x + b_h    h = (1 - z) ⊙ h_prev + z ⊙ h̃
// The task: of numbers in [-1, 1] and a mark at two of them, the sum of these two (Hochreiter and Schmidhuber 1997).
#include <cstdio>

#include "layers/recurrent/recurrent.h"
#include "unroll.h"

using namespace unroll;

struct MinGruCell {
  static constexpr const char* name = "min_gru";
  static constexpr bool has_c = false;

  explicit MinGruCell(const LayerScope& scope)
      : weight(scope.add("weight_ih", {2 * scope.hidden, scope.input}).var()),
        bias(scope.add("bias", {2 * scope.hidden}).var()) {}

  RecurrentVars step(const Var& x, const Var&, const RecurrentVars& before) const {
    const Vars parts = chunk(linear(x, weight, bias), 2, 1);
    const Var z = sigmoid(parts[0]);
    return {before.h + z * (parts[1] - before.h), {}};
  }

  Var weight, bias;
};

int main() {
  constexpr int steps = 20, batch = 32;
  ParameterSet params;
  const Recurrent<MinGruCell> gru(params / "gru", {.input = 2, .hidden = 32, .layers = 2});
  const Dense out(params / "out", {.in = 32, .out = 1});
  Adam adam(params, {.learning_rate = 1e-2});
  RandomStream random(1, "sums");
  double error = 1;    // mean of late batches, each scored before it is learned from
  double squares = 0;  // of the answer 0, over all batches
  for (int step = 1; step <= 400; ++step) {
    const Tensor x({steps, batch, 2}), target({batch, 1});
    {
      const auto numbers = x.on_host(Access::overwrite), sums = target.on_host(Access::overwrite);
      for (int b = 0; b < batch; ++b) {
        const int first = static_cast<int>(random.below(steps / 2)),
                  second = steps / 2 + static_cast<int>(random.below(steps / 2));
        sums[b] = 0;
        for (int t = 0; t < steps; ++t) {
          real* const at = &numbers[(t * batch + b) * 2];
          at[0] = static_cast<real>(2 * random.uniform() - 1), at[1] = t == first || t == second;
          sums[b] += at[0] * at[1];
        }
        squares += static_cast<double>(sums[b] * sums[b]);
      }
    }
    Tape tape;
    const Var loss = mean_squared_error(out(row(gru(x, gru.zero_state(batch)).y, -1)), target);
    error = 0.95 * error + 0.05 * static_cast<double>(loss.item());
    tape.backward(loss);
    adam.step({.max_norm = 1});
    if (step % 100 == 0)
      std::printf("step %3d  squared error %.4f; of always 0: %.3f\n", step, error, squares / (step * batch));
  }
  return error < 0.05 ? 0 : 1;
}
