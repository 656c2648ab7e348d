// The simple recurrent unit (Lei, Zhang, Wang, Dai and Artzi 2018): a cell of your own that has no recurrent matrix.
// It teaches what Recurrent<Cell> wants of a cell, and what that then has: layers, directions, dropout, lengths, resets.
//   f, r = σ(W x + v ⊙ c_prev + b)    c = f ⊙ c_prev + (1 - f) ⊙ W_c x    h = r ⊙ c + (1 - r) ⊙ W_h x
// The task: of twelve digits the first is wanted at the end.
#include <cstdio>

#include "layers/recurrent/recurrent.h"
#include "unroll.h"

using namespace unroll;

struct SruCell {
  static constexpr const char* name = "sru";
  static constexpr bool has_c = true;

  explicit SruCell(const LayerScope& scope)
      : weight(scope.add("weight_ih", {4 * scope.hidden, scope.input}).var()),
        peephole(scope.add("peephole", {2 * scope.hidden}).var()),
        bias(scope.add("bias", {2 * scope.hidden}, Init::centered_at(2, scope.hidden)).var()) {
  }  // f remembers at first

  // x [batch, input], before.c [batch, hidden]; h_in, what of h would go into a recurrent product, has no use here.
  RecurrentVars step(const Var& x, const Var&, const RecurrentVars& before) const {
    const int hidden = before.c.dim(1);
    const Vars of_x = chunk(linear(x, weight), 4, 1);
    const auto gate = [&](int k) {
      const int begin = k * hidden, end = begin + hidden;
      return sigmoid(of_x[k] + slice(peephole, 0, begin, end) * before.c + slice(bias, 0, begin, end));
    };
    const Var f = gate(0), r = gate(1);
    const Var c = f * before.c + (1 - f) * of_x[2];
    return {r * c + (1 - r) * of_x[3], c};
  }

  Var weight, peephole, bias;
};

int main() {
  constexpr int digits = 10, steps = 12, batch = 32;
  ParameterSet params;
  const Embedding embed(params / "embed", {.vocab = digits, .dim = 24});
  const Recurrent<SruCell> sru(params / "sru", {.input = 24, .hidden = 32, .layers = 2});
  const Dense out(params / "out", {.in = 32, .out = digits});
  Adam adam(params, {.learning_rate = 1e-2});
  RandomStream random(1, "digits");
  double right = 0;  // of late batches, each scored before it is learned from
  for (int step = 1; step <= 300; ++step) {
    IdTensor x({steps, batch});
    for (int32_t& digit : x.span()) digit = static_cast<int32_t>(random.below(digits));
    Tape tape;
    const Var logits = out(row(sru(embed(x), sru.zero_state(batch)).y, -1));
    const IdTensor found = argmax(logits);
    int same = 0;
    for (int b = 0; b < batch; ++b) same += found(b) == x(0, b);
    right = 0.95 * right + 0.05 * same / batch;
    const Var loss = softmax_cross_entropy(logits, x[0]);
    tape.backward(loss);
    adam.step({.max_norm = 1});
    if (step % 50 == 0)
      std::printf("step %3d  loss %.4f  right %.3f\n", step, static_cast<double>(loss.item()), right);
  }
  return right > 0.95 ? 0 : 1;
}
