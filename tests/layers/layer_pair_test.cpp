// Two LSTM layers in one kernel each way (layers/recurrent/engines/fused/layer_pair.h). They agree with layer by layer and with `composed`, with each
// option and in each precision that tensor cores take; over the stand-in, whose threads come in random orders, and on a GPU.
#include "layers/recurrent/engines/fused/layer_pair.h"

#include "layers/recurrent/persistent.h"
#include "layers/recurrent/wavefront.h"
#include "tests/framework/in_child.h"
#include "tests/layers/lstm_window.h"
#ifdef UNROLL_STANDIN
#include "tests/standin/standin.h"
#endif

using namespace unroll;

namespace {

#ifdef UNROLL_STANDIN
const int processors = standin::control().processors = 7;  // before the device is asked: three for each layer
#endif

struct LayerByLayer {
  LayerByLayer() { detail::layer_by_layer = true; }
  ~LayerByLayer() { detail::layer_by_layer = false; }
};

constexpr Precision rounding[] = {Precision::tf32, Precision::bf16, Precision::fp16};
const LstmCase plain{.config = {.input = 3, .hidden = 21, .layers = 2}, .steps = 4, .batch = 3};
LstmCase dropping(real rate = 0.4f, bool locked = false) {
  LstmCase c = plain;
  c.config.dropout = rate, c.config.locked_dropout = locked;
  return c;
}

bool is_pair(const LstmCase& c) {
  return persistent_pair(Lstm::facts, c.config, engine_facts(), {.steps = c.steps, .batch = c.batch})
      .has_value();
}

void compare(const LstmCase& c, Precision p, bool resets = false, bool sensitive = true) {
  std::vector<Results> results;
  CAPTURE(c.name());
  CAPTURE(name_of(p));
  {
    const WithPrecision rounded(p);
    CHECK(is_pair(c));
    results.push_back(Window(window_of(c, resets), Engine::fused).run());
    const LayerByLayer one_after_the_other;
    results.push_back(Window(window_of(c, resets), Engine::fused).run());
  }
  check_agreement(window_of(c, resets), results, roundings_of(p), sensitive);
}

}  // namespace

#ifdef UNROLL_STANDIN
// First, since ThreadSanitizer does not watch what a process does that was forked after there were fibres.
TEST_CASE("where the GPU does not take the blocks at once, layers go step by step, and it is said once") {
  const WithPrecision rounded(Precision::bf16);
  LstmCase steps = dropping();
  steps.config.algorithm = RecurrentAlgorithm::standard;
  for (const int taken : {0, 1}) {  // the forward's launch is refused, or the backward's
    const std::string said = in_child([&] {
      detail::layer_by_layer = true;
      const Results by_steps = Window(window_of(steps, true), Engine::fused).run();
      detail::layer_by_layer = false;
      standin::control().takes_together = taken, standin::control().refusals_together = 3;
      const Results found = Window(window_of(dropping(), true), Engine::fused).run();
      std::string result;
      for (size_t i = 0; i < found.size(); ++i) {
        const bool same = taken == 0 ? same_bits(found[i].second, by_steps[i].second)
                                     : distance(found[i].second, by_steps[i].second) < 0.05;
        if (!same) result += " " + found[i].first;
      }
      return "differ:" + result;
    });
    CAPTURE(said);
    CHECK(said.ends_with("differ:"));
    CHECK(lacks(said.substr(0, said.find('\n')), {"note: the GPU does not take the", "step by step"}) == "");
    CHECK(said.find("note", said.find("note") + 1) == said.npos);
  }
}
#endif

TEST_CASE(
    "both layers in one kernel agree with layer by layer and with composed, in layers of several sizes") {
  for (const Precision p : rounding) {
    compare(plain, p);
    for (const bool locked : {false, true}) compare(dropping(0.4f, locked), p);
  }
  for (const auto& [hidden, steps, batch] : {std::array{5, 3, 1}, {21, 5, 32}, {37, 3, 9}, {8, 12, 2}}) {
    LstmCase c = dropping();
    c.config.hidden = hidden, c.steps = steps, c.batch = batch;
    compare(c, Precision::bf16);
  }
  LstmCase coupled = dropping();  // three gates: five groups of lines, the last without another
  coupled.config.hidden = 37, coupled.config.coupled_gates = true;
  compare(coupled, Precision::bf16);
#ifdef UNROLL_ON_GPU
  for (const int hidden : {200, 650}) {
    LstmCase c{
        .config = {.input = 20, .hidden = hidden, .layers = 2, .dropout = 0.5f}, .steps = 35, .batch = 20};
    compare(c, Precision::bf16);
  }
#endif
}

TEST_CASE("they agree with each option, alone and with others") {
  for (LstmCase c : lstm_options_alone(3, 21, 2, 4, 3)) {
    const bool is_smooth = c.config.cell_clip == 0 && (c.config.cell_activation == Unary::tanh ||
                                                       c.config.cell_activation == Unary::softsign);
    {
      const WithPrecision rounded(Precision::bf16);
      const RecurrentConfig& o = c.config;
      CHECK(is_pair(c) ==
            !(o.projection || o.last_hidden || o.layer_norm || o.mogrifier || o.residual || o.bidirectional));
      if (!is_pair(c)) continue;
    }
    compare(c, Precision::bf16, false, is_smooth);
  }
  LstmCase many = dropping(0.3f);
  RecurrentConfig& config = many.config;
  config.recurrent_dropout = 0.3f, config.weight_drop = 0.2f, config.zoneout_h = 0.2f,
  config.zoneout_c = 0.4f;
  config.peepholes = true;
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
  }
}

TEST_CASE("threads in five orders, a graph, and windows on one tape give the same bits") {
  LstmCase c = dropping();
  c.config.zoneout_h = 0.3f, c.config.recurrent_dropout = 0.3f;
  for (const Precision p : rounding) {
    const WithPrecision rounded(p);
    check_five_orders(window_of(c));
  }
  WindowCase twice = window_of(dropping());
  twice.windows = 2;
  const WithPrecision rounded(Precision::bf16);
  const Results pair = Window(twice, Engine::fused).run();
  Roundings off = roundings_of(Precision::bf16);
  off.moved *= 2;
  check_agreement(twice, {pair}, off, true);
}

#ifdef UNROLL_STANDIN
// Launches of the kernel, by what is asked of a window.
static int64_t kernels(const std::function<void()>& work) {
  standin::control().moved.clear();
  work();
  return standin::control().moved["Recurrence"].launches;
}

TEST_CASE("a window is one launch each way") {
  const WithPrecision rounded(Precision::bf16);
  for (const LstmCase& c : {plain, dropping()}) {
    const auto run = [&] { Window(window_of(c), Engine::fused).run(); };
    CHECK(kernels(run) == 2);
    const LayerByLayer one_after_the_other;
    CHECK(kernels(run) == 4);
  }
  LstmCase wide = plain;
  wide.batch = 33;
  CHECK_FALSE(is_pair(wide));
  CHECK(kernels([&] { Window(window_of(wide), Engine::fused).run(); }) == 4);
}
#endif

// A training may leave out gradients of the lower layer, of y, of all but the lower's state, or a tape.
TEST_CASE("gradients come where they are wanted, whatever the loss reads") {
  enum Reads { y, upper_state, lower_state };
  const WithPrecision rounded(Precision::bf16);
  LstmCase c = dropping().with(Engine::fused);
  RandomStream random(3, "x");
  const Tensor x = random_tensor({c.steps, c.batch, c.config.input}, random);
  const auto gradients = [&](Reads reads, bool lower_frozen, bool upper_frozen) {
    ParameterSet params(5);
    const Lstm lstm(params / "lstm", c.config);
    for (const auto& p : params.all())
      p->frozen = (lower_frozen && p->name.ends_with("_l0")) || (upper_frozen && p->name.ends_with("_l1"));
    Tape tape;
    const auto out = lstm(Var(x), lstm.zero_state(c.batch));
    const Var read = reads == y ? out.y : row(out.state.h, reads == upper_state ? 1 : 0);
    Results results{{"read", read.value().clone()}};
    tape.backward(sum(read * read));
    for (const auto& p : params.all())
      if (!p->frozen) results.emplace_back(p->name, p->node.gradient.value(p->shape).clone());
    return results;
  };
  for (const Reads reads : {y, upper_state, lower_state})
    for (const auto& [lower, upper] : {std::pair{false, false}, {true, false}, {false, true}}) {
      if (reads == lower_state && lower) continue;  // nothing would be recorded
      const Results pair = gradients(reads, lower, upper);
      const LayerByLayer one_after_the_other;
      const Results alone = gradients(reads, lower, upper);
      REQUIRE(pair.size() == alone.size());
      for (size_t i = 0; i < pair.size(); ++i) {
        CAPTURE(pair[i].first);
        // Sums in another order may round another way where they are handed on.
        CHECK(distance(pair[i].second, alone[i].second) <= 0x1p-6 * largest(alone[i].second));
      }
    }
  ParameterSet params(5);
  const Lstm lstm(params / "lstm", c.config);
  const Tensor without_tape = lstm(Var(x), lstm.zero_state(c.batch)).y.value();
  const LayerByLayer one_after_the_other;
  const Tensor alone = lstm(Var(x), lstm.zero_state(c.batch)).y.value();
  CHECK(distance(without_tape, alone) <= 0x1p-8 * largest(alone));
}

TEST_CASE("the plan says why there is none") {
  EngineFacts h100{.gpu = "NVIDIA H100",
                   .capability = 90,
                   .precision = Precision::bf16,
                   .processors = 132,
                   .code = 90,
                   .shared_memory = 227 << 10};
  const auto why = [&](const RecurrentConfig& config,
                       const WindowFacts& window = {.steps = 35, .batch = 20}) {
    std::string text;
    const auto plan = persistent_pair(Lstm::facts, config, h100, window, &text);
    return plan ? fmt::format("{} blocks of {} units", plan->blocks, plan->units) : text;
  };
  CHECK(why({.input = 200, .hidden = 200, .layers = 2}) == "50 blocks of 4 units");
  CHECK(why({.input = 650, .hidden = 650, .layers = 2, .dropout = 0.5f}) == "55 blocks of 12 units");
  CHECK(why({.input = 200, .hidden = 200, .layers = 3}) == "there are 3 layers");
  CHECK(why({.input = 200, .hidden = 200, .layers = 2, .residual = true}) == "residual acts between them");
  CHECK(why({.input = 200, .hidden = 200, .layers = 2, .last_hidden = 100}) ==
        "last_hidden acts between them");
  CHECK(why({.input = 1500, .hidden = 1500, .layers = 2}) ==
        "1500 units are more than 16 for each of 66 processors");
  CHECK(why({.input = 200, .hidden = 200, .layers = 2}, {.steps = 35, .batch = 33}) ==
        "batch 33 is above 32");
  h100.precision = Precision::tf32;
  CHECK(lacks(why({.input = 650, .hidden = 650, .layers = 2}),
              {"weights of 12 units in tf32 take ", "KiB", "66 processors"}) == "");
}
