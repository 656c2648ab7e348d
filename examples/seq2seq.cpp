// Sequence to sequence with attention: an encoder reads a row of digits, a decoder writes it backwards, digit by digit.
// It teaches attention over an encoder's outputs, teacher forcing, and greedy decoding that feeds back what was written.
// (examples/attention.cpp has the same in bare operations, rows of different lengths, and shows where it looks.)
#include <cstdio>

#include "unroll.h"

using namespace unroll;

constexpr int digits = 10, start = digits, steps = 10, batch = 64, width = 48;

struct Rows {
  IdTensor digit{{steps, batch}}, backwards{{steps, batch}};
  explicit Rows(RandomStream& random) {
    for (int32_t& d : digit.span()) d = static_cast<int32_t>(random.below(digits));
    for (int t = 0; t < steps; ++t) backwards[-1 - t].copy_from(digit[t]);
  }
};

struct Reverser {
  ParameterSet params;
  Embedding embed{params / "embed", {.vocab = digits + 1, .dim = width}};
  Lstm encoder{params / "encoder", {.input = width, .hidden = width, .bidirectional = true}};
  Lstm decoder{params / "decoder", {.input = width, .hidden = width}};
  MultiplicativeAttention look{params / "look", {.query = width, .keys = 2 * width}};
  Dense out{params / "out", {.in = 3 * width, .out = digits}};
  AttentionMemory read(const IdTensor& rows) const {
    return look.remember(encoder(embed(rows), encoder.zero_state(batch)).y);
  }
  // said [any, batch] -> logits of what follows each [any, batch, digits]; the state goes on.
  Var write(const IdTensor& said, const AttentionMemory& memory, RecurrentVars& state) const {
    const auto [y, next] = decoder(embed(said), state);
    state = next;
    return out(concat({y, look(y, memory)}, -1));
  }
};

int main() {
  Reverser model;
  Adam adam(model.params, {.learning_rate = 5e-3});
  RandomStream random(1, "digits");
  for (int step = 1; step <= 350; ++step) {
    const Rows rows(random);
    IdTensor said({steps, batch});  // what is wanted, a step later
    said[0].fill(start), said.slice(1, steps).copy_from(rows.backwards.slice(0, steps - 1));
    Tape tape;
    RecurrentVars state = model.decoder.zero_state(batch);
    const Var loss = softmax_cross_entropy(model.write(said, model.read(rows.digit), state), rows.backwards);
    tape.backward(loss);
    adam.set_learning_rate(step < 250 ? 5e-3 : 1e-3);
    adam.step({.max_norm = 1});
    if (step % 50 == 0) std::printf("step %3d  loss %.4f\n", step, static_cast<double>(loss.item()));
  }
  int right = 0;
  for (int i = 0; i < 10; ++i) {
    const Rows rows(random);
    const AttentionMemory memory = model.read(rows.digit);
    RecurrentVars state = model.decoder.zero_state(batch);
    IdTensor last({1, batch});
    last.fill(start);
    int wrong[batch] = {};
    for (int t = 0; t < steps; ++t) {
      last = argmax(model.write(last, memory, state));
      for (int b = 0; b < batch; ++b) wrong[b] += last(0, b) != rows.backwards(t, b);
    }
    for (const int mistakes : wrong) right += mistakes == 0;
  }
  std::printf("%d of 640 new rows are written backwards without a mistake\n", right);
  return right == 640 ? 0 : 1;
}
