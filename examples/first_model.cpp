// A first model: read a sequence, say which of two classes it is.
//
// A sequence is 20 steps of 100 features, all noise. At one step, no one says which, a faint pattern is added
// or subtracted: that is the class. The LSTM has to notice it and to remember it to the end.
#include <cstdio>
#include <vector>

#include "unroll.h"

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

  // on_host(): with a GPU the numbers are in its memory, and what is written here goes there when draw() ends.
  void draw(RandomStream& random) {
    const auto values = x.on_host(Access::overwrite), labels = label.on_host(Access::overwrite);
    for (real& value : values) value = static_cast<real>(random.uniform() - 0.5);
    for (int i = 0; i < 50; ++i) {
      const bool positive = random.below(2);
      const int step = static_cast<int>(random.below(20));
      labels[i] = positive ? 1 : 0;
      for (int k = 0; k < 100; k += 3) values[(step * 50 + i) * 100 + k] += positive ? 0.5f : -0.5f;
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
    const std::vector<real> logits = model(batch.x).value().to_host(), labels = batch.label.to_host();
    for (size_t k = 0; k < logits.size(); ++k) right += (logits[k] > 0) == (labels[k] > 0);
  }
  std::printf("%.1f %% of 1000 new sequences are told apart\n", right / 10.0);
  return right >= 950 ? 0 : 1;
}
