// Layers of a stack side by side on a GPU: what they compute has the bits of layer by layer, with each option, whatever order the
// stand-in's streams take; and where they are, and are not.
#include "layers/recurrent/wavefront.h"

#include "framework/profile.h"
#include "tests/layers/agreement.h"
#include "tests/layers/lstm_cases.h"
#include "tests/standin/standin.h"

using namespace unroll;

namespace {

struct LayerByLayer {
  LayerByLayer() { detail::layer_by_layer = true; }
  ~LayerByLayer() { detail::layer_by_layer = false; }
};

constexpr CellKind cells[] = {CellKind::lstm, CellKind::gru, CellKind::rnn};

// Three chunks.
struct Case {
  CellKind cell = CellKind::lstm;
  RecurrentConfig config = {.input = 4, .hidden = 6, .layers = 2, .algorithm = RecurrentAlgorithm::standard};
  int steps = 17, batch = 3;
  std::optional<Padding> padding = {};  // rows have lengths of their own

  std::string name() const { return describe_layers(facts_of(cell), config) + (padding ? " padded" : ""); }
};
Case plain(CellKind cell, int layers) {
  Case result{.cell = cell};
  result.config.layers = layers;
  return result;
}
std::vector<Case> options_of(CellKind cell) {
  std::vector<Case> result;
  for (const RecurrentConfig& config : options_alone(facts_of(cell), Case().config))
    if (!config.bidirectional) result.push_back({.cell = cell, .config = config});
  for (const Padding padding : {Padding::after, Padding::before})
    result.push_back({.cell = cell, .padding = padding});
  return result;
}
WindowCase window_of(const Case& c) {
  return {.name = c.name(),
          .layer =
              [=](ParameterSet& params, Engine engine) {
                RecurrentConfig config = c.config;
                config.engine = engine;
                return RecurrentLayer(params / "layer", c.cell, config);
              },
          .steps = c.steps,
          .batch = c.batch,
          .lengths = c.padding ? Lengths{ids({c.batch}, {17, 0, 11}), *c.padding} : Lengths()};
}
EngineFacts facts_in(Precision p) {
  EngineFacts facts = engine_facts();
  facts.precision = p;
  return facts;
}
std::optional<Wavefront> wave_of(const Case& c) {
  return wavefront(Engine::fused, facts_of(c.cell), c.config, facts_in(Precision::fp32),
                   {.steps = c.steps, .batch = c.batch});
}

void check_same(const Results& wave, const Results& expected) {
  REQUIRE(wave.size() == expected.size());
  for (size_t i = 0; i < wave.size(); ++i) {
    CAPTURE(wave[i].first);
    const auto a = wave[i].second.on_host(), b = expected[i].second.on_host();
    REQUIRE(a.size() == b.size());
    CHECK(std::equal(a.data(), a.data() + a.size(), b.data()));
  }
}

void compare(const Case& c, Precision p, bool resets = false, int orders = 1) {
  const WithPrecision precision(p);
  CAPTURE(c.name());
  CAPTURE(std::string(name_of(p)));
  REQUIRE(wave_of(c).has_value());
  REQUIRE(wave_of(c)->chunks == 3);
  WindowCase w = window_of(c);
  if (resets) {
    w.resets = IdTensor({c.steps, c.batch});
    for (int i = 0; i < c.steps * c.batch; ++i) w.resets.data()[i] = i % 5 == 0 || i % 7 == 4;
  }
  Results expected;
  {
    const LayerByLayer one_after_the_other;
    expected = Window(w, Engine::fused).run();
  }
  for (int i = 0; i < orders; ++i) {
    check_same(Window(w, Engine::fused).run(), expected);
    if (!c.padding && !resets) check_same(played(w, Engine::fused), expected);  // else it cannot be recorded
  }
}

}  // namespace

TEST_CASE("layers side by side compute the bits of layer by layer, whatever order streams take") {
  for (const CellKind cell : cells) {
    for (const int layers : {2, 3, 4}) {
      Case c = plain(cell, layers);
      compare(c, Precision::fp32, false, 5);
      c.config.dropout = 0.5f;
      compare(c, Precision::fp32, false, 5);
      compare(c, Precision::bf16);
    }
    WindowCase twice = window_of(plain(cell, 2));  // two windows on one tape
    twice.windows = 2;
    Results expected;
    {
      const LayerByLayer one_after_the_other;
      expected = Window(twice, Engine::fused).run();
    }
    check_same(Window(twice, Engine::fused).run(), expected);
  }
}

TEST_CASE("so they do with each option, alone and with others") {
  for (const CellKind cell : cells) {
    for (const Case& c : options_of(cell))
      for (const Precision p : {Precision::fp32, Precision::bf16}) compare(c, p);
    Case many = plain(cell, 3);
    many.padding = Padding::after;
    RecurrentConfig& config = many.config;
    config.residual = true, config.dropout = 0.4f, config.locked_dropout = true;
    config.recurrent_dropout = config.zoneout_h = config.weight_drop = 0.3f;
    const bool lstm = cell == CellKind::lstm;
    if (lstm) config.zoneout_c = 0.3f, config.peepholes = config.layer_norm = true;
    for (const Precision p : {Precision::fp32, Precision::bf16}) compare(many, p, true);
    if (lstm) {
      config.projection = 3;
      compare(many, Precision::bf16, true);
      config.projection = 0, config.residual = false, config.last_hidden = 4;
    }
    config.mogrifier = 2;
    compare(many, Precision::fp32);
  }
}

TEST_CASE("a window goes on side by side after another, and where a gradient is not wanted") {
  Case c;
  c.config.engine = Engine::fused;
  RandomStream random(3, "x");
  const Tensor x = random_tensor({c.steps, c.batch, c.config.input}, random),
               dy = random_tensor({c.steps, c.batch, c.config.hidden}, random);
  const auto gradients_of = [&](bool first_frozen) {
    ParameterSet params(5);
    const RecurrentLayer layer(params / "layer", c.cell, c.config);
    for (const auto& p : params.all())
      if (first_frozen && p->name.ends_with("_l0")) p->frozen = true;
    RecurrentState state = layer.zero_state(c.batch);
    Results results;
    for (int i = 0; i < 3; ++i) {
      Tape tape;
      const auto [y, next] = layer(Var(x), state);
      tape.backward(sum(y * Var(dy)));
      state = next;
    }
    results.emplace_back("h", state.h.clone());
    for (const auto& p : params.all())
      if (!p->frozen) results.emplace_back(p->name, p->node.gradient.value(p->shape).clone());
    {
      const NoTape none;
      results.emplace_back("y", layer(Var(x), state).y.value());
    }
    return results;
  };
  for (const CellKind cell : cells)
    for (const bool frozen : {false, true}) {
      c.cell = cell;
      Results expected;
      {
        const LayerByLayer one_after_the_other;
        expected = gradients_of(frozen);
      }
      for (int i = 0; i < 3; ++i) check_same(gradients_of(frozen), expected);
    }
}

TEST_CASE("where operations are measured, looked at, or sent off one by one, there is no wave") {
  for (const CellKind cell : cells) {
    const auto launches = [&] {
      const int64_t before = standin::control().launches;
      Window(window_of({.cell = cell}), Engine::fused).run();
      return standin::control().launches - before;
    };
    const int64_t side_by_side = launches();
    const Profile profile;
    CHECK(launches() < side_by_side);  // by the products of chunks
  }
}

TEST_CASE("the plan says why there is none") {
  const auto why = [](const Case& c, const EngineFacts& gpu = facts_in(Precision::fp32)) {
    std::string text;
    CHECK_FALSE(wavefront(Engine::fused, facts_of(c.cell), c.config, gpu,
                          {.steps = c.steps, .batch = c.batch}, &text));
    return text;
  };
  Case c;
  CHECK(why(plain(CellKind::gru, 1)) == "there is one layer");
  CHECK(why(c, {}) == "a GPU does it");
  c.steps = 5;
  CHECK(why(c) == "a window of 5 steps is shorter than 6");
  c = {}, c.config.bidirectional = true;
  CHECK(why(c) == "a layer that reads backwards needs the whole window of the one below");
  c = {}, c.config.algorithm = RecurrentAlgorithm::automatic;
  CHECK(why(c, facts_in(Precision::bf16)) == "the persistent kernel takes all processors");
  std::string text;
  const CellFacts whole{.name = "mgu", .title = "mgu", .fused = true};
  CHECK_FALSE(wavefront(Engine::fused, whole, c.config, facts_in(Precision::fp32), {}, &text));
  CHECK(text == "the cell mgu computes a window at once");
  c.cell = CellKind::rnn;  // which no persistent kernel computes
  CHECK(wavefront(Engine::fused, facts_of(c.cell), c.config, facts_in(Precision::bf16),
                  {.steps = 17, .batch = 3}));
}

TEST_CASE("chunks are of five steps or more") {
  CHECK(Wavefront::of(6).chunks == 2);
  CHECK(Wavefront::of(20).chunks == 4);
  CHECK(Wavefront::of(35).chunks == 7);
  CHECK(Wavefront::of(1000).chunks == 8);
}

TEST_CASE(
    "within a lane nothing is read on the host, there is one set of lanes, and memory is handed out after them") {
  Tensor x = Tensor::full({3}, 1);
  const void* first = nullptr;
  {
    Lanes lanes;
    CHECK_THROWS_AS(Lanes(), Error);
    {
      const Lanes::In in(lanes, 1);
      CHECK_THROWS_AS(x.item(), Error);
      CHECK_THROWS_AS(synchronize(), Error);
      CHECK_THROWS_AS(Lanes::In(lanes, 2), Error);
      x.fill(2);
    }
    {
      const Tensor y = Tensor::full({77'000}, 1);
      first = y.data();
    }
    CHECK(Tensor::full({77'000}, 1).data() != first);
  }
  CHECK(x(1) == 2);
  CHECK(Tensor::full({77'000}, 1).data() == first);
}

TEST_CASE("in the stand-in a lane that does not wait reads what is not there yet, under some order") {
  int too_early = 0;
  for (int i = 0; i < 20; ++i) {
    for (const bool waits : {true, false}) {
      Tensor x = Tensor::full({3}, 1), y = Tensor::full({3}, 0);
      {
        Lanes lanes;
        int done = 0;
        {
          const Lanes::In in(lanes, 1);
          x.fill(2);
          done = lanes.mark();
        }
        const Lanes::In in(lanes, 2);
        if (waits) lanes.await(done);
        y.copy_from(x);
      }
      if (waits)
        CHECK(y(0) == 2);
      else
        too_early += y(0) == 1;
    }
  }
  CHECK(too_early > 0);
}
