// Kernels and products that a step of a recurrent layer launches on a GPU, as the stand-in counts them.
#include "framework/kernels/few_rows.h"
#include "framework/kernels/persistent.h"
#include "layers/dense.h"
#include "layers/embedding.h"
#include "layers/recurrent/lstm.h"
#include "layers/recurrent/persistent.h"
#include "layers/recurrent/recurrent_layer.h"
#include "optim/optimizer.h"
#include "tests/layers/lstm_cases.h"
#include "tests/standin/standin.h"
#include "tests/with_precision.h"

using namespace unroll;

namespace {

constexpr int batch = 2, vocab = 50;

// Kernels and products of a training step on a window, which is the third: what is made at first use is no part of it.
int64_t counted(CellKind cell, const RecurrentConfig& config, int steps, int rows) {
  ParameterSet params;
  const Embedding embed(params / "embedding", {.vocab = vocab, .dim = config.input});
  const RecurrentLayer layer(params / "layer", cell, config);
  const Dense decoder(params / "decoder", {.in = config.output(), .out = vocab});
  Sgd sgd(params, {.learning_rate = 0.1f});
  RecurrentState state = layer.zero_state(rows);
  const IdTensor tokens = ids({steps, rows}, std::vector<int32_t>(static_cast<size_t>(steps * rows), 3));
  int64_t before = 0;
  for (int i = 0; i < 3; ++i) {
    before = standin::control().launches;
    Tape tape;
    auto [y, next] = layer(embed(tokens), state);
    tape.backward(softmax_cross_entropy(decoder, y, tokens) * static_cast<real>(steps));
    sgd.order_step({.max_norm = 10});
    sgd.enqueue_step();
    sgd.finish_step();
    state = next;
  }
  return standin::control().launches - before;
}

// Launches of three more steps of a window, by step and layer, forward and back.
double of_step(Engine engine, CellKind cell, RecurrentConfig config, int rows = batch) {
  config.engine = engine;
  return static_cast<double>(counted(cell, config, 9, rows) - counted(cell, config, 6, rows)) /
         (3 * config.layers * config.directions());
}

// By the engine `fused` a step is one launch each way, a product and the cell; with layer norm two. Each matrix of a mogrifier is one
// more, each way. With layer norm x's product and its norm are then launches of their own, back the norm is two; a GRU, too, has a
// product of x by itself.
//
// With a projection: a product and a kernel, each way. It is a product more each way and a kernel back, and a pass for h where an option
// acts on it between two steps or it is rounded. There each matrix of a mogrifier is two products and each round two kernels, and
// in 16 bits what they read and write is rounded.
double expected(CellKind cell, const RecurrentConfig& c, Precision p) {
  const bool rounds = p == Precision::bf16;
  const int matrices = c.mogrifier * (c.mogrifier_rank ? 2 : 1);
  const int of_x = c.layer_norm ? 5 : cell == CellKind::gru ? 2 : 0;
  if (!c.projection) return 2 + (c.layer_norm ? 2 : 0) + 2 * matrices + (c.mogrifier ? of_x : 0);
  double launches = 4;
  launches += 3 + (rounds || c.recurrent_dropout > 0 || c.zoneout_h > 0 ? 1 : 0);
  if (c.mogrifier) launches += 4 + 2 * c.mogrifier + 2 * matrices;
  if (c.mogrifier && rounds) launches += 2 + 2 * matrices;
  return launches;
}

void check_fused(CellKind cell, RecurrentConfig config) {
  config.algorithm = RecurrentAlgorithm::standard;  // step by step
  for (const Precision p : {Precision::fp32, Precision::bf16}) {
    const WithPrecision precision(p);
    CAPTURE(describe_layers(facts_of(cell), config));
    CAPTURE(std::string(name_of(p)));
    CHECK(of_step(Engine::fused, cell, config) == expected(cell, config, p));
  }
}

constexpr CellKind cells[] = {CellKind::lstm, CellKind::gru, CellKind::rnn};

}  // namespace

TEST_CASE(
    "a step of a layer launches a product and a kernel, each way, whatever the cell; an option alone adds nothing but its products") {
  for (const CellKind cell : cells) {
    check_fused(cell, {.input = 8, .hidden = 8, .layers = 3, .dropout = 0.5f});
    for (const RecurrentConfig& config :
         options_alone(facts_of(cell), {.input = 8, .hidden = 8, .layers = 2}))
      check_fused(cell, config);
  }
}

TEST_CASE("options together launch no more, with a projection and without") {
  for (const CellKind cell : cells) {
    const bool lstm = cell == CellKind::lstm;
    RecurrentConfig config{.input = 8,
                           .hidden = 8,
                           .recurrent_dropout = 0.5f,
                           .zoneout_h = 0.5f,
                           .layer_norm = lstm,
                           .peepholes = lstm};
    if (lstm) config.zoneout_c = 0.5f;
    check_fused(cell, config);
    if (!lstm) continue;
    config.mogrifier = 5, config.mogrifier_rank = 3;
    check_fused(cell, config);
    config.mogrifier = config.mogrifier_rank = 0, config.projection = 4;
    check_fused(cell, config);
    config.layer_norm = false;
    check_fused(cell, config);
  }
}

TEST_CASE(
    "an LSTM's step launches 2 kernels, with layer norm 4, with five rounds of a mogrifier of low rank 22") {
  const auto launches = [](const RecurrentConfig& config) {
    return of_step(Engine::fused, CellKind::lstm, config);
  };
  CHECK(launches({.input = 8, .hidden = 8}) == 2);
  CHECK(launches({.input = 8, .hidden = 8, .layer_norm = true}) == 4);
  CHECK(launches({.input = 8, .hidden = 8, .mogrifier = 5, .mogrifier_rank = 4}) == 22);
}

TEST_CASE("with layer norm a step launches no more where rows are more than few, or the layer is wide") {
  static_assert(FewRows::most_rows < 65);
  for (const Precision p : {Precision::fp32, Precision::bf16}) {
    const WithPrecision precision(p);
    for (const bool coupled : {false, true}) {
      RecurrentConfig config{.input = 8, .hidden = 8, .layer_norm = true, .coupled_gates = coupled};
      config.algorithm = RecurrentAlgorithm::standard;
      CHECK(of_step(Engine::fused, CellKind::lstm, config, 65) == 4);
      standin::control().computes = false;
      config.hidden = 3000;
      CHECK(of_step(Engine::fused, CellKind::lstm, config) == 4);
      standin::control().computes = true;
    }
  }
}

TEST_CASE("steps launch nothing of ours where cuDNN computes them, or the persistent kernel") {
  for (const CellKind cell : cells) {
    CHECK(of_step(Engine::cudnn, cell, {.input = 8, .hidden = 8, .layers = 2}) == 0);
    CHECK(of_step(Engine::cudnn, cell, {.input = 8, .hidden = 8, .layers = 2, .dropout = 0.5f}) == 0);
  }
  const WithPrecision precision(Precision::bf16);
  const RecurrentConfig config{.input = 8, .hidden = 8, .layers = 2};
  REQUIRE(persistent_plan(Lstm::facts, config, engine_facts(), {.steps = 6, .batch = batch}));
  CHECK(of_step(Engine::fused, CellKind::lstm, config) == 0);
  CHECK(of_step(Engine::fused, CellKind::lstm, {.input = 8, .hidden = 8, .layers = 2, .layer_norm = true}) ==
        0);
  CHECK(of_step(Engine::fused, CellKind::gru, config) == 0);
}
