// The persistent kernel of a GRU: a window in one launch each way. It agrees with the loop and with `composed`, with each option and in
// each precision that tensor cores take; over the stand-in, whose threads come in random orders, and on a GPU.
#include "tests/layers/persistent_window.h"

using namespace unroll;

namespace {

struct GruCase {
  RecurrentConfig config = {.input = 3, .hidden = 21};
  int steps = 4, batch = 3;
  bool resets = false;
  Lengths lengths = {};
};
WindowCase window_of(const GruCase& c, RecurrentAlgorithm algorithm = RecurrentAlgorithm::automatic) {
  WindowCase window{.name = describe_layers(Gru::facts, c.config),
                    .layer =
                        [=, config = c.config](ParameterSet& params, Engine engine) {
                          RecurrentConfig with = config;
                          with.engine = engine, with.algorithm = algorithm;
                          return RecurrentLayer(params / "gru", CellKind::gru, with);
                        },
                    .steps = c.steps,
                    .batch = c.batch,
                    .lengths = c.lengths};
  if (!c.resets) return window;
  window.resets = IdTensor({c.steps, c.batch});
  for (int i = 0; i < c.steps * c.batch; ++i) window.resets.data()[i] = i % 5 == 0 || i % 7 == 4;
  return window;
}
bool is_persistent(const GruCase& c) {
  return persistent_plan(Gru::facts, c.config, engine_facts(), {.steps = c.steps, .batch = c.batch})
      .has_value();
}

void compare(const GruCase& c, Precision p, bool sensitive = true) {
  CAPTURE(describe_layers(Gru::facts, c.config));
  check_algorithms([&](RecurrentAlgorithm algorithm) { return window_of(c, algorithm); }, p, sensitive);
}

}  // namespace

#ifdef UNROLL_STANDIN
TEST_CASE("where the GPU does not take the blocks at once, a layer goes step by step, and says so once") {
  const GruCase c{.resets = true};
  check_refused_launches(window_of(c), window_of(c, RecurrentAlgorithm::standard));
}
#endif

TEST_CASE("one kernel for a GRU, the loop and composed agree in each precision, in layers of several sizes") {
  for (const Precision p : rounding) {
    const WithPrecision rounded(p);
    for (const auto& [hidden, steps, batch] : {std::array{5, 3, 1}, {21, 4, 3}, {37, 3, 9}, {61, 3, 35}})
      CHECK(is_persistent({.config = {.input = 4, .hidden = hidden}, .steps = steps, .batch = batch}));
  }
  for (const Precision p : rounding) {
    compare({}, p);
    compare({.config = {.input = 4, .hidden = 37}, .steps = 3, .batch = 9}, p);
  }
  compare({.config = {.input = 4, .hidden = 5}, .steps = 3, .batch = 1}, Precision::bf16);
  compare({.config = {.input = 4, .hidden = 61}, .steps = 3, .batch = 35}, Precision::bf16);
  compare({.config = {.input = 4, .hidden = 101}, .steps = 3, .batch = 2}, Precision::tf32, false);
#ifdef UNROLL_ON_GPU
  for (const Precision p : rounding)
    compare({.config = {.input = 20, .hidden = 650, .layers = 2}, .steps = 35, .batch = 20}, p);
  compare({.config = {.input = 20, .hidden = 1500}, .steps = 5, .batch = 64}, Precision::bf16);
#endif
}

TEST_CASE("they agree with each option, alone and with others") {
  GruCase c;
  for (const RecurrentConfig& config : options_alone(Gru::facts, c.config)) {
    c.config = config;
    compare(c, Precision::bf16);
  }
  c.config = {.input = 3,
              .hidden = 21,
              .layers = 2,
              .recurrent_dropout = 0.3f,
              .weight_drop = 0.2f,
              .zoneout_h = 0.2f,
              .residual = true,
              .bidirectional = true};
  c.resets = true;
  for (const Precision p : rounding) compare(c, p);
  IdTensor lengths({c.batch});
  for (int b = 0; b < c.batch; ++b) lengths.data()[b] = (7 * b + c.steps - 1) % (c.steps + 1);
  for (const Padding padding : {Padding::after, Padding::before}) {
    c.lengths = {lengths, padding};
    compare(c, Precision::fp16, false), compare(c, Precision::tf32, false);
  }
}

TEST_CASE("threads in five orders, and a graph, give the same bits") {
  GruCase c;
  c.config.zoneout_h = 0.3f, c.config.recurrent_dropout = 0.3f;
  for (const Precision p : rounding) {
    const WithPrecision rounded(p);
    check_five_orders(window_of(c));
  }
}

TEST_CASE("what a window launches does not depend on its steps, and the line says which it is") {
  const WithPrecision rounded(Precision::bf16);
#ifdef UNROLL_STANDIN
  const auto launches = [](GruCase c, int steps,
                           RecurrentAlgorithm algorithm = RecurrentAlgorithm::automatic) {
    c.steps = steps;
    Window w(window_of(c, algorithm), Engine::fused);
    w.run();
    w.params.spend_gradients();
    const int64_t before = standin::control().launches;
    w.run();
    return standin::control().launches - before;
  };
  GruCase c;
  for (const RecurrentConfig& config : options_alone(Gru::facts, c.config)) {
    c.config = config;
    CAPTURE(describe_layers(Gru::facts, config));
    CHECK((launches(c, 4) == launches(c, 7)) == is_persistent(c));
    CHECK(is_persistent(c) == (config.mogrifier == 0));
    CHECK(launches(c, 4, RecurrentAlgorithm::standard) < launches(c, 7, RecurrentAlgorithm::standard));
  }
  CHECK(launches({}, 2) > launches({}, 3));  // too few steps, which are then launched one by one
#endif
  const auto line = [](RecurrentConfig config, RecurrentAlgorithm algorithm) {
    config.engine = Engine::fused, config.algorithm = algorithm;
    return Gru::choose(config).text;
  };
  CHECK(line(GruCase{}.config, RecurrentAlgorithm::automatic) ==
        "gru: fused, because it was asked for; persistent");
  CHECK(line(GruCase{}.config, RecurrentAlgorithm::standard) ==
        "gru: fused, because it was asked for; persistent: no, algorithm = standard was asked for");
}
