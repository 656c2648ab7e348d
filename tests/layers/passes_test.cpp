// Bytes that the kernels of a training step read and write, as they tell the stand-in: the passes over memory of the models
// of Zaremba, Sutskever and Vinyals 2014, in bfloat16, at their real sizes. Nothing is computed.
#include <doctest/doctest.h>

#include "framework/random.h"
#include "layers/dense.h"
#include "layers/dropout.h"
#include "layers/embedding.h"
#include "layers/recurrent/lstm.h"
#include "optim/optimizer.h"
#include "tests/standin/standin.h"
#include "tests/with_precision.h"

using namespace unroll;

namespace {

struct Size {
  const char* name;
  int hidden, steps;
  float dropout;
};
constexpr int batch = 20, vocab = 10000, layers = 2;

using Moved = std::map<std::string, standin::Control::Moved>;

// Of the third step: what is made at first use is no part of it.
Moved moved_in_a_step(const Size& size) {
  const WithPrecision precision(Precision::bf16);
  standin::control().computes = false;
  ParameterSet params;
  const Embedding embed(params / "embedding", {.vocab = vocab, .dim = size.hidden});
  const Dropout input(params / "input", {.rate = size.dropout}),
      output(params / "output", {.rate = size.dropout});
  const Lstm lstm(params / "lstm", {.input = size.hidden,
                                    .hidden = size.hidden,
                                    .layers = layers,
                                    .dropout = size.dropout,
                                    .engine = Engine::fused});
  const Dense decoder(params / "decoder", {.in = size.hidden, .out = vocab});
  Sgd sgd(params, {.learning_rate = 1});
  RecurrentState state = lstm.zero_state(batch);
  IdTensor tokens({size.steps, batch});
  RandomStream words(1, "words");
  for (int32_t& word : tokens.span()) word = static_cast<int32_t>(words.below(vocab));
  for (int i = 0; i < 3; ++i) {
    standin::control().moved.clear();
    Tape tape;
    auto [y, next] = lstm(input(embed(tokens)), state);
    tape.backward(softmax_cross_entropy(decoder, output(y), tokens) * static_cast<real>(size.steps));
    sgd.order_step({.max_norm = 5});
    sgd.enqueue_step();
    sgd.finish_step();
    state = next;
  }
  standin::control().computes = true;
  return standin::control().moved;
}

// All but the products' and the recurrences', which keep weights and states in the processors.
int64_t bytes_of_passes(const Moved& moved) {
  int64_t sum = 0;
  for (const auto& [name, one] : moved)
    if (name != "product" && name != "Recurrence") sum += one.read + one.written;
  return sum;
}

std::string table_of(const Size& size, const Moved& moved) {
  std::string text =
      fmt::format("\n{:24} {:>8} {:>10} {:>10}\n", size.name, "launches", "read, MB", "written");
  for (const auto& [name, one] : moved)
    text += fmt::format("{:24} {:8} {:10.1f} {:10.1f}\n", name, one.launches,
                        static_cast<double>(one.read) / 1e6, static_cast<double>(one.written) / 1e6);
  return text + fmt::format("passes: {:.1f} MB\n", static_cast<double>(bytes_of_passes(moved)) / 1e6);
}

}  // namespace

// Before weights, sums of an embedding's rows and biases were spared passes of their own these were 250.5, 797.4 and 2032.2.
TEST_CASE("a step's passes over memory move no more bytes than these") {
  struct Most {
    Size size;
    double megabytes;
  };
  for (const auto& [size, most] : {Most{{"small", 200, 20, 0}, 112.9}, Most{{"medium", 650, 35, 0.5f}, 405.5},
                                   Most{{"large", 1500, 35, 0.65f}, 1184.8}}) {
    const Moved moved = moved_in_a_step(size);
    const std::string table = table_of(size, moved);
    MESSAGE(table);
    CHECK(static_cast<double>(bytes_of_passes(moved)) / 1e6 <= most);
  }
}
