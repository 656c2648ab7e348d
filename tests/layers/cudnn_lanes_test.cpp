// Layers of the engine `cudnn` side by side, a call for each chunk of steps. Results have the bits of the same calls in one lane,
// whatever order the stand-in's streams take. Values and the gradients of x and of the state have those of a call for each layer, if
// the library carries states from step to step as it does from call to call.
#include "framework/plain.h"
#include "framework/profile.h"
#include "layers/recurrent/wavefront.h"
#include "tests/layers/cudnn_cases.h"

using namespace unroll;

namespace {

struct Set {
  explicit Set(bool& flag) : flag(flag) { flag = true; }
  ~Set() { flag = false; }
  bool& flag;
};

constexpr CellKind cells[] = {CellKind::lstm, CellKind::gru, CellKind::rnn};
constexpr int steps = 33, chunks = 3;

Case case_of(CellKind cell, int layers) {
  return {.lstm = cell == CellKind::lstm,
          .other = cell,
          .config = {.input = 4, .hidden = 6, .layers = layers},
          .steps = steps};
}
std::vector<Case> cases_of(CellKind cell) {
  std::vector<Case> result;
  const auto add = [&](int layers, auto change) {
    change(result.emplace_back(case_of(cell, layers)).config);
  };
  add(2, [](RecurrentConfig& c) { c.dropout = 0.5f; });
  add(3, [](RecurrentConfig& c) { c.dropout = 0.4f, c.locked_dropout = true; });
  add(2, [](RecurrentConfig& c) { c.residual = true; });
  add(4, [](RecurrentConfig& c) { c.residual = true, c.dropout = 0.3f; });
  if (cell != CellKind::lstm) return result;
  add(3, [](RecurrentConfig& c) { c.last_hidden = 5; });
  add(3, [](RecurrentConfig& c) { c.projection = 3, c.dropout = 0.3f, c.residual = true; });
  return result;
}
std::vector<Precision> each_precision() {
  return has_16_bits ? std::vector(std::begin(all_precisions), std::end(all_precisions))
                     : std::vector{Precision::fp32};
}

void check_same(const Results& one, const Results& other, bool weights = true) {
  REQUIRE(one.size() == other.size());
  for (size_t i = 0; i < one.size(); ++i) {
    if (!weights && one[i].first.starts_with("d ")) continue;
    CAPTURE(one[i].first);
    CHECK(same_bits(one[i].second, other[i].second));
  }
}

// Calls each way that a window makes.
int calls_of(const WindowCase& w) {
  const auto before = cudnn().calls;
  Window(w, Engine::cudnn).run();
  synchronize();
  const auto& after = cudnn().calls;
  CHECK(after.backward_data - before.backward_data == after.forward - before.forward);
  CHECK(after.backward_weights - before.backward_weights == after.forward - before.forward);
  return after.forward - before.forward;
}

}  // namespace

TEST_CASE(
    "chunks of layers side by side have the bits of the same calls in one lane, in any order, and as a graph") {
  const Fresh fresh;
  for (const CellKind cell : cells)
    for (const Case& c : cases_of(cell))
      for (const Precision p : each_precision()) {
        const WithPrecision rounded(p);
        const WindowCase w = c.window();
        CAPTURE(w.name);
        CAPTURE(std::string(name_of(p)));
        CHECK(calls_of(w) == c.config.layers * chunks);
        Results in_turn;
        {
          const Set one_lane(detail::one_lane);
          in_turn = Window(w, Engine::cudnn).run();
        }
        for (int order = 0; order < 5; ++order) check_same(Window(w, Engine::cudnn).run(), in_turn);
        check_same(played(w, Engine::cudnn), in_turn);
        CHECK(cudnn().refusal == "");
      }
}

TEST_CASE(
    "they have the bits of a call for each layer, but for sums over the window, which agree as engines do") {
  const Fresh fresh;
  cudnn().carries_rounded = true;
  for (const CellKind cell : cells)
    for (const Case& c : cases_of(cell))
      for (const Precision p : each_precision()) {
        const WindowCase w = c.window();
        CAPTURE(w.name);
        CAPTURE(std::string(name_of(p)));
        Results wave;
        {
          const WithPrecision rounded(p);
          wave = Window(w, Engine::cudnn).run();
          const Set one_after_the_other(detail::layer_by_layer);
          CHECK(calls_of(w) == c.config.layers);
          check_same(wave, Window(w, Engine::cudnn).run(), false);
        }
        if (c.config.layers != 3) continue;
        if (p == Precision::fp32)
          check_agreement(w, {wave}, c.config.input, c.config.hidden, false);
        else
          check_agreement(w, {wave}, roundings_of(p), false);
      }
}

TEST_CASE(
    "windows go on side by side after others, on one tape and on the next, and where gradients are not wanted") {
  const Fresh fresh;
  for (const CellKind cell : cells) {
    Case c = case_of(cell, 3);
    c.config.dropout = 0.3f, c.config.residual = true, c.config.engine = Engine::cudnn;
    RandomStream random(3, "x");
    const Tensor x = random_tensor({c.steps, c.batch, c.config.input}, random);
    const auto results_of = [&](bool first_frozen) {
      ParameterSet params(5);
      const RecurrentLayer layer(params / "layer", cell, c.config);
      for (const auto& p : params.all()) p->frozen = first_frozen && p->name.ends_with("_l0");
      RecurrentState state = layer.zero_state(c.batch);
      Results results;
      for (int i = 0; i < 3; ++i) {
        Tape tape;
        auto out = layer(Var(x), state);
        if (i == 1) out = layer(Var(x), out.state);
        tape.backward(i == 2 ? sum(out.state.h * out.state.h) : sum(out.y * out.y));  // 2: none comes for y
        state = out.state;
      }
      results.emplace_back("h", state.h.clone());
      for (const auto& p : params.all())
        if (!p->frozen) results.emplace_back(p->name, p->node.gradient.value(p->shape).clone());
      const NoTape none;
      results.emplace_back("y", layer(Var(x), state).y.value());
      return results;
    };
    for (const bool frozen : {false, true}) {
      Results in_turn;
      {
        const Set one_lane(detail::one_lane);
        in_turn = results_of(frozen);
      }
      for (int i = 0; i < 3; ++i) check_same(results_of(frozen), in_turn);
    }
  }
}

TEST_CASE(
    "one call serves where nothing acts between layers; and layers follow each other where a chunk cannot be a call") {
  const Fresh fresh;
  Case c = case_of(CellKind::lstm, 2);
  CHECK(calls_of(c.window()) == 1);
  c.config.dropout = 0.5f;
  CHECK(calls_of(c.window()) == 2 * chunks);
  {
    const Profile profile;
    CHECK(calls_of(c.window()) == 2);
  }
  c.lengths = {33, 4, 12};
  CHECK(calls_of(c.window()) == 2);
  c.lengths = {}, c.steps = 5;
  CHECK(calls_of(c.window()) == 2);
  c.steps = 6;
  CHECK(calls_of(c.window()) == 4);
  c.config.bidirectional = true;
  CHECK(calls_of(c.window()) == 2);
}

TEST_CASE("after the first windows a window side by side takes no memory of the device") {
  const Fresh fresh;
  for (const Precision p : precisions())
    for (const CellKind cell : cells) {
      const WithPrecision rounded(p);
      Case c = case_of(cell, 2);
      c.config.dropout = 0.5f;
      Window window(c.window(), Engine::cudnn);
      const auto run = [&] {
        Tape tape;
        tape.backward(sum(window.layer(tape.watch(window.x), {Var(window.h0), Var(window.c0)}).y));
        window.params.spend_gradients();
      };
      for (int i = 0; i < 4; ++i) run();
      const auto before = standin::control();
      for (int i = 0; i < 3; ++i) run();
      CHECK(standin::control().allocations == before.allocations);
      CHECK(standin::control().synchronizations == before.synchronizations);
    }
}

TEST_CASE("planted: a call that fails in a lane is an error that names it, and the next window is right") {
  const Fresh fresh;
  Case c = case_of(CellKind::lstm, 2);
  c.config.residual = true;
  const Results right = Window(c.window(), Engine::cudnn).run();
  {
    Window window(c.window(), Engine::cudnn);
    cudnn().failure = CUDNN_STATUS_EXECUTION_FAILED;
    CHECK(error_of([&] { window.run(); }) ==
          "cuDNN has failed: cudnnRNNForward reports CUDNN_STATUS_EXECUTION_FAILED");
    cudnn().failure = CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
    CHECK_THROWS_AS(window.run(), OutOfMemory);
    cudnn().failure = CUDNN_STATUS_SUCCESS;
  }
  CHECK_FALSE(Lanes::any());
  check_same(Window(c.window(), Engine::cudnn).run(), right);
}

TEST_CASE("the plan says why there is none, and chunks are of about ten steps") {
  const auto why = [](const Case& c, const WindowFacts& window) {
    std::string text;
    CHECK_FALSE(wavefront(Engine::cudnn, Lstm::facts, c.config, engine_facts(), window, &text));
    return text;
  };
  Case c = case_of(CellKind::lstm, 2);
  CHECK(why(c, {}) == "one call of cuDNN's computes all layers");
  c.config.dropout = 0.5f;
  CHECK(why(c, {.steps = 5}) == "a window of 5 steps is shorter than 6");
  CHECK(why(c, {.lengths = WindowFacts::Lengths::padded_after}) ==
        "rows have lengths of their own, and some would have no step in a chunk");
  CHECK(wavefront(Engine::cudnn, Lstm::facts, c.config, engine_facts(), {}));
  c.config.layers = 1;
  CHECK(why(c, {}) == "there is one layer");
  CHECK(Wavefront::of_calls(6).chunks == 2);
  CHECK(Wavefront::of_calls(35).chunks == 3);
  CHECK(Wavefront::of_calls(1000).chunks == 4);
}

TEST_CASE("UNROLL_PLAIN is a list of changes, and a word that is none is an error") {
  CHECK(names_change("cudnn-lanes", "cudnn-lanes"));
  CHECK_FALSE(names_change("", "cudnn-lanes"));
  CHECK(lacks(input_error_of([] { names_change("cudnn-lanes,cudnn-lane", "cudnn-lanes"); }),
              {"UNROLL_PLAIN: 'cudnn-lane' is none of", "cudnn-lanes"}) == "");
}
