// A tagger in two directions: each step of a row gets a tag that depends on what stands before it and behind it.
// It teaches bidirectional layers, rows of different lengths, targets that are not scored, and argmax.
//
// Rows are digits; a digit's tag is 1 if the one behind it is larger than the one before it (nothing counts as 0).
#include <cstdio>

#include "unroll.h"

using namespace unroll;

constexpr int digits = 10, longest = 9, batch = 64;

struct Rows {
  explicit Rows(RandomStream& random) : input({longest, batch}), tags({longest, batch}) {
    input.fill(0), tags.fill(-1);  // -1 is not scored
    lengths.steps = IdTensor({batch});
    for (int b = 0; b < batch; ++b) {
      const int length = 3 + static_cast<int>(random.below(longest - 2));
      lengths.steps.data()[b] = length;
      for (int t = 0; t < length; ++t) input[t].data()[b] = static_cast<int32_t>(random.below(digits));
      for (int t = 0; t < length; ++t) {
        const int before = t > 0 ? input(t - 1, b) : 0, behind = t + 1 < length ? input(t + 1, b) : 0;
        tags[t].data()[b] = behind > before;
      }
    }
  }
  IdTensor input, tags;
  Lengths lengths;
};

struct Tagger {
  ParameterSet params;
  Embedding embed{params / "embed", {.vocab = digits, .dim = 16}};
  Lstm lstm{params / "lstm", {.input = 16, .hidden = 32, .bidirectional = true}};
  Dense out{params / "out", {.in = 64, .out = 2}};

  Var operator()(const Rows& rows) const {  // [longest, batch, 2]
    return out(lstm(embed(rows.input), lstm.zero_state(batch), rows.lengths).y);
  }
};

int main() {
  Tagger model;
  Adam adam(model.params, {.learning_rate = 1e-2});
  RandomStream random(1, "digits");
  for (int step = 1; step <= 200; ++step) {
    const Rows rows(random);
    Tape tape;
    const Var loss = softmax_cross_entropy(model(rows), rows.tags);
    tape.backward(loss);
    adam.step({.max_norm = 1});
    if (step % 50 == 0) std::printf("step %3d  loss %.4f\n", step, static_cast<double>(loss.item()));
  }

  int right = 0, scored = 0;
  for (int i = 0; i < 10; ++i) {
    const Rows rows(random);
    const IdTensor found = argmax(model(rows));  // [longest, batch]
    for (int64_t k = 0; k < found.size(); ++k)
      if (rows.tags.data()[k] >= 0) right += found.data()[k] == rows.tags.data()[k], ++scored;
  }
  std::printf("%.1f %% of %d tags of new rows are right\n", 100.0 * right / scored, scored);
  return right > 0.97 * scored ? 0 : 1;
}
