// A small GPT: a causal Transformer that reads characters, here of somebody who counts.
// It teaches causal attention over all steps at once, residual connections around normed layers, and writing one character
// at a time with a cache of keys and values.
#include <cstdio>
#include <string>

#include "unroll.h"

using namespace unroll;

constexpr int characters = 11, steps = 24, batch = 24, width = 48;  // "0" … "9" and " "
int code(char c) { return c == ' ' ? 10 : c - '0'; }

struct Block {
  Scope scope;
  LayerNorm before{scope / "before", {.dim = width}}, between{scope / "between", {.dim = width}};
  MultiHeadAttention attend{scope / "attend", {.dim = width, .heads = 4}};
  Dense wide{scope / "wide", {.in = width, .out = 4 * width}},
      back{scope / "back", {.in = 4 * width, .out = width}};
  Var operator()(Var x, AttentionCache* cache) const {
    x += cache ? attend.step(before(x), *cache) : attend(before(x), {.causal = true});
    return x + back(gelu(wide(between(x))));
  }
};

struct Gpt {
  ParameterSet params;
  Embedding embed{params / "embed", {.vocab = characters, .dim = width}};
  Var places = params.add("places", {steps, 1, width}, Init::normal(0, 0.1f)).var();
  Block blocks[2] = {{params / "first"}, {params / "second"}};
  LayerNorm last{params / "last", {.dim = width}};
  Dense out{params / "out", {.in = width, .out = characters}};

  // x [steps, batch, width], or with caches one step [batch, width] -> logits of what follows
  Var operator()(Var x, AttentionCache* caches) const {
    for (int k = 0; k < 2; ++k) x = blocks[k](x, caches ? &caches[k] : nullptr);
    return out(last(x));
  }
};

int main() {
  std::string text;
  for (int n = 10; n < 100; ++n) text += std::to_string(n) + " ";
  Gpt model;
  AdamW adamw(model.params, {.learning_rate = 3e-3});
  RandomStream random(1, "windows");
  for (int step = 1; step <= 150; ++step) {
    IdTensor input({steps, batch}), target({steps, batch});
    for (int b = 0; b < batch; ++b) {
      const size_t at = 3 * random.below(static_cast<uint32_t>(text.size() / 3 - steps / 3 - 1));
      for (int t = 0; t < steps; ++t)
        input[t].data()[b] = code(text[at + t]), target[t].data()[b] = code(text[at + t + 1]);
    }
    Tape tape;
    const Var logits = slice(model(model.embed(input) + model.places, nullptr), 0, 5);  // it has seen five
    const Var loss = softmax_cross_entropy(logits, target.slice(5, steps));
    tape.backward(loss);
    adamw.step({.max_norm = 1});
    if (step % 50 == 0) std::printf("step %3d  loss %.4f\n", step, static_cast<double>(loss.item()));
  }
  std::string written = "37 38 ";
  AttentionCache caches[] = {model.blocks[0].attend.cache(steps, 1), model.blocks[1].attend.cache(steps, 1)};
  for (int t = 0; t < steps - 1; ++t) {
    const IdTensor said = IdTensor::full({1}, code(written[static_cast<size_t>(t)]));
    const IdTensor next = argmax(model(model.embed(said) + row(model.places, t), caches));
    if (t + 1 == static_cast<int>(written.size())) written += "0123456789 "[next(0)];
  }
  std::printf("it goes on: %s\n", written.c_str());
  return written == "37 38 39 40 41 42 43 44 " ? 0 : 1;
}
