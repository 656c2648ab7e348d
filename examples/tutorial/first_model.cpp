// A first model: read a sequence, say which of two classes it is.
//
// A sequence is 20 steps of 100 features, all noise. At one step, no one says which, a faint pattern is added
// or subtracted: that is the class. The LSTM has to notice it and to remember it to the end.
#include <cstdio>

#include "framework/unroll.h"

using namespace unroll;

struct Classifier {
  ParameterSet params;  // first: the layers register in it
  Lstm lstm{params / "lstm", {.input = 100, .hidden = 128}};
  Dense out{params / "out", {.in = 128, .out = 1}};

  Var operator()(const Tensor& x) const {  // [steps, batch, features] -> logits [batch, 1]
    const int batch = x.dim(1);
    return out(row(lstm(x, lstm.zero_state(batch)).state.h, 0));
  }
};

struct Sequences {
  Tensor x{{20, 50, 100}}, label{{50, 1}};

  void draw(RandomStream& random) {
    for (real& value : x.span()) value = static_cast<real>(random.uniform() - 0.5);
    for (int i = 0; i < 50; ++i) {
      const bool positive = random.below(2);
      const int step = static_cast<int>(random.below(20));
      label.data()[i] = positive ? 1 : 0;
      for (int k = 0; k < 100; k += 3) x[step][i].data()[k] += positive ? 0.5f : -0.5f;
    }
  }
};

int main() {
  Classifier model;
  Adam adam(model.params, {.learning_rate = 2e-3});
  RandomStream random(1, "sequences");
  Sequences batch;
  for (int step = 1; step <= 100; ++step) {
    batch.draw(random);
    Tape tape;
    const Var loss = binary_cross_entropy(model(batch.x), batch.label);
    tape.backward(loss);
    adam.step();
    if (step % 20 == 0) std::printf("step %3d  loss %.4f\n", step, static_cast<double>(loss.item()));
  }

  int right = 0;  // on sequences that it has not seen; no tape, so nothing is recorded
  for (int i = 0; i < 20; ++i) {
    batch.draw(random);
    const Var logits = model(batch.x);
    for (int k = 0; k < 50; ++k) right += (logits.value().data()[k] > 0) == (batch.label.data()[k] > 0);
  }
  std::printf("%.1f %% of 1000 new sequences are told apart\n", right / 10.0);
  return right >= 950 ? 0 : 1;
}
