// The persistent kernel of the engine `fused`: an LSTM's window in one launch each way. It agrees with the loop and with `composed`,
// with each option and in each precision that tensor cores take; over the stand-in, whose threads come in random orders, and on a GPU.
#include "tests/layers/persistent_window.h"

using namespace unroll;

namespace {

const LstmCase plain{.config = {.input = 3, .hidden = 21}, .steps = 4, .batch = 3};

LstmCase with(LstmCase c, RecurrentAlgorithm algorithm) { return c.config.algorithm = algorithm, c; }

// Whether this layer's windows are the kernel's.
bool is_persistent(const LstmCase& c) {
  return persistent_plan(Lstm::facts, c.config, engine_facts(), {.steps = c.steps, .batch = c.batch})
      .has_value();
}

void compare(const LstmCase& c, Precision p, bool resets = false, bool sensitive = true) {
  CAPTURE(c.name());
  check_algorithms([&](RecurrentAlgorithm algorithm) { return window_of(with(c, algorithm), resets); }, p,
                   sensitive);
}

}  // namespace

#ifdef UNROLL_STANDIN
TEST_CASE("where the GPU does not take the blocks at once, a layer goes step by step, and says so once") {
  check_refused_launches(window_of(plain, true), window_of(with(plain, RecurrentAlgorithm::standard), true));
}
#endif

TEST_CASE(
    "the persistent kernel, the loop and composed agree in each precision, in layers of several sizes") {
  for (const Precision p : rounding) {
    for (const auto& [hidden, steps, batch] : {std::array{5, 3, 1}, {21, 4, 3}, {37, 3, 9}, {61, 3, 35}}) {
      const LstmCase c{.config = {.input = 4, .hidden = hidden}, .steps = steps, .batch = batch};
      const WithPrecision rounded(p);
      CHECK(is_persistent(c));
    }
    compare(plain, p);
    compare({.config = {.input = 4, .hidden = 37}, .steps = 3, .batch = 9}, p);
  }
  compare({.config = {.input = 4, .hidden = 5}, .steps = 3, .batch = 1}, Precision::bf16);
  compare({.config = {.input = 4, .hidden = 61}, .steps = 3, .batch = 35}, Precision::bf16);
  // 12 units with three gates: five groups of lines, the last without another.
  compare({.config = {.input = 4, .hidden = 61, .coupled_gates = true}, .steps = 3, .batch = 2},
          Precision::bf16);
  compare({.config = {.input = 4, .hidden = 101}, .steps = 3, .batch = 2}, Precision::tf32, false, false);
#ifdef UNROLL_ON_GPU
  for (const Precision p : rounding)
    compare({.config = {.input = 20, .hidden = 650, .layers = 2}, .steps = 35, .batch = 20}, p);
  compare({.config = {.input = 20, .hidden = 1500}, .steps = 5, .batch = 64}, Precision::bf16);
#endif
}

TEST_CASE("they agree with each option, alone and with others") {
  for (const LstmCase& c : lstm_options_alone(3, 21, 1, 4, 3)) {
    // Beside a kink roundings change more than elsewhere.
    const bool is_smooth =
        c.config.cell_activation == Unary::tanh || c.config.cell_activation == Unary::softsign;
    compare(c, Precision::bf16, false, is_smooth);
  }
  LstmCase many = plain;
  RecurrentConfig& config = many.config;
  config.recurrent_dropout = 0.3f, config.weight_drop = 0.2f, config.zoneout_h = 0.2f,
  config.zoneout_c = 0.4f;
  config.layers = 2, config.bidirectional = true, config.peepholes = true;
  for (const Precision p : rounding) {
    compare(many, p, true);
    compare(plain, p, true);
  }
  config.coupled_gates = true, config.cell_activation = Unary::softsign,
  config.gate_activation = Unary::hard_sigmoid;
  many.padded = true;
  for (const Padding padding : {Padding::after, Padding::before}) {
    many.padding = padding;
    compare(many, Precision::fp16, true, false);
    compare(many, Precision::tf32, true, false);
  }
}

TEST_CASE(
    "with layer norm they agree in layers of several sizes, alone and with other options, up to 32 rows") {
  for (const Precision p : rounding) {
    for (const auto& [hidden, steps, batch] : {std::array{5, 3, 1}, {37, 3, 9}, {101, 3, 2}}) {
      const LstmCase c{
          .config = {.input = 4, .hidden = hidden, .layer_norm = true}, .steps = steps, .batch = batch};
      compare(c, p, false, false);
      const WithPrecision rounded(p);
      CHECK(is_persistent(c));
    }
    LstmCase c = plain;
    c.config.layer_norm = true, c.config.layers = 2, c.config.bidirectional = true;
    c.config.recurrent_dropout = 0.3f, c.config.weight_drop = 0.2f, c.config.peepholes = true;
    c.config.zoneout_h = 0.2f, c.config.zoneout_c = 0.4f, c.padded = true;
    for (const bool coupled : {false, true}) {
      c.config.coupled_gates = coupled;
      compare(c, p, true, false);
    }
  }
  const WithPrecision rounded(Precision::bf16);
  LstmCase c{.config = {.input = 4, .hidden = 61, .layer_norm = true}, .steps = 3, .batch = 32};
  CHECK(is_persistent(c));
  compare(c, Precision::bf16, false, false);
  c.batch = 33;
  CHECK_FALSE(is_persistent(c));
#ifdef UNROLL_ON_GPU
  for (const Precision p : rounding)
    compare({.config = {.input = 20, .hidden = 650, .layer_norm = true}, .steps = 35, .batch = 20}, p, false,
            false);
#endif
}

TEST_CASE("threads in five orders, and a graph, give the same bits") {
  LstmCase c = plain;
  c.config.zoneout_h = 0.3f, c.config.recurrent_dropout = 0.3f;
  for (const bool norm : {false, true})
    for (const Precision p : rounding) {
      c.config.layer_norm = norm;
      const WithPrecision rounded(p);
      check_five_orders(window_of(c));
    }
}

TEST_CASE("what a window launches does not depend on its steps, and the line says which it is") {
  const WithPrecision rounded(Precision::bf16);
#ifdef UNROLL_STANDIN
  const auto launches = [](LstmCase c, int steps) {
    c.steps = steps;
    Window w(window_of(c), Engine::fused);
    w.run();
    w.params.spend_gradients();
    const int64_t before = standin::control().launches;
    w.run();
    return standin::control().launches - before;
  };
  for (const LstmCase& c : lstm_options_alone(3, 21, 1, 4, 3)) {
    CAPTURE(c.name());
    CHECK((launches(c, 4) == launches(c, 7)) == is_persistent(c));
    const LstmCase loop = with(c, RecurrentAlgorithm::standard);
    CHECK(launches(loop, 4) < launches(loop, 7));
  }
  CHECK(launches(plain, 2) > launches(plain, 3));  // too few steps, which are then launched one by one
#endif
  const auto line = [](RecurrentConfig config, RecurrentAlgorithm algorithm) {
    config.engine = Engine::fused, config.algorithm = algorithm;
    return Lstm::choose(config).text;
  };
  CHECK(line(plain.config, RecurrentAlgorithm::automatic) ==
        "lstm: fused, because it was asked for; persistent");
  CHECK(line(plain.config, RecurrentAlgorithm::standard) ==
        "lstm: fused, because it was asked for; persistent: no, algorithm = standard was asked for");
}
