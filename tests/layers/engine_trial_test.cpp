// `auto` on a GPU without figures: both engines are timed for a few windows, by a clock of the test's own that makes one of them slow.
#include "layers/recurrent/engine_trial.h"

#include "tests/layers/lstm_window.h"
#include "tests/standin/cudnn.h"
#include "tests/standin/standin.h"

using namespace unroll;

namespace {

const std::string name = standin::control().name = "NVIDIA L4";  // before the device is asked

int calls() { return standin::cudnn().calls.forward; }
// A launch takes a tenth, a call of cuDNN so much.
double a_call_takes = 0;
double clock_by_work() {
  return 0.1 * static_cast<double>(standin::control().launches) + a_call_takes * calls();
}
struct Fresh {
  explicit Fresh(double of_a_call) {
    a_call_takes = of_a_call, detail::clock_of_trials = clock_by_work, detail::forget_trials();
  }
  ~Fresh() { detail::forget_trials(); }
};

const LstmCase plain{
    .config = {.input = 3, .hidden = 5, .layers = 2, .dropout = 0.3f}, .steps = 4, .batch = 2};
EngineChoice choice(const RecurrentConfig& config = plain.config) {
  ParameterSet params;
  return Lstm(params / "lstm", config).choice();
}

}  // namespace

TEST_CASE("auto takes the engine whose windows were shorter, and says so") {
  {
    const Fresh slow_cudnn(1000);
    const EngineChoice found = choice();
    CHECK(found.engine == Engine::fused);
    CHECK(lacks(found.text, {"lstm: fused, because a window took ", " ms here, and ", " in cudnn"}) == "");
  }
  const Fresh slow_fused(0);
  const EngineChoice found = choice();
  CHECK(found.engine == Engine::cudnn);
  CHECK(lacks(found.text, {"lstm: cudnn, 2 x 5, side by side by chunks of steps, because a window took ",
                           " ms here, and ", " in fused"}) == "");
}

TEST_CASE("a kind of layer is timed once, and only where nothing else says which engine") {
  const Fresh fresh(1000);
  const auto timed = [](const RecurrentConfig& config) {
    const int before = calls();
    choice(config);
    return calls() > before;
  };
  CHECK(timed(plain.config));
  CHECK_FALSE(timed(plain.config));
  RecurrentConfig other = plain.config;
  other.hidden = 6;
  CHECK(timed(other));
  other.hidden = 7, other.engine = Engine::fused;
  CHECK_FALSE(timed(other));
  other.engine = Engine::automatic, other.zoneout_h = 0.1f;  // which cuDNN does not know
  CHECK_FALSE(timed(other));
  other.zoneout_h = 0;
  {
    const Tape tape;
    CHECK_FALSE(timed(other));
  }
  keep_engine("cudnn");
  CHECK_FALSE(timed(other));
  CHECK(choice(other).text ==
        "lstm: cudnn, 2 x 7, side by side by chunks of steps, because the run began with it");
  detail::forget_trials();
  keep_engine("composed");  // which auto does not choose between
  CHECK(timed(other));
  ParameterSet params;
  const RecurrentLayer layer(params / "layer", CellKind::lstm, other);
  CHECK(layer.choice_for({.steps = 4, .batch = 2}).text == layer.choice().text);
}

TEST_CASE("after a trial weights and random numbers are those of a layer whose engine was asked for") {
  for (const double of_a_call : {0.0, 1000.0}) {
    const Fresh fresh(of_a_call);
    const Engine engine = of_a_call > 0 ? Engine::fused : Engine::cudnn;
    const Results asked = Window(window_of(plain), engine).run();
    const int before = calls();
    Window window(window_of(plain), Engine::automatic);
    CHECK(calls() > before);
    const Results found = window.run();
    REQUIRE(found.size() == asked.size());
    for (size_t i = 0; i < found.size(); ++i) {
      CAPTURE(found[i].first);
      CHECK(same_bits(found[i].second, asked[i].second));
    }
  }
}

TEST_CASE("GPUs with figures are not timed, and times do not count on others' account") {
  const EngineFacts here = engine_facts();
  CHECK(here.gpu == name);
  CHECK_FALSE(has_figures(here, Lstm::facts, plain.config));
  const auto never = [](Engine) -> EngineWindow { throw Error("it is timed"); };
  for (const char* measured : {"NVIDIA H100 PCIe", "NVIDIA H200"}) {
    EngineFacts facts = here;
    facts.gpu = measured;
    CHECK(has_figures(facts, Lstm::facts, plain.config));
    // A GRU's persistent kernel was timed nowhere; where it does not serve, its engines are as on other GPUs.
    facts.processors = 132, facts.shared_memory = 227 << 10, facts.capability = facts.code = 90;
    for (const Precision p : {Precision::bf16, Precision::fp32}) {
      facts.precision = p;
      CHECK(has_figures(facts, Gru::facts, plain.config) == (p == Precision::fp32));
    }
    CHECK_FALSE(with_trial(facts, Lstm::facts, plain.config, never).times);
  }
  EngineFacts of_two = here;
  of_two.processes = 2;  // which might choose differently
  CHECK_FALSE(with_trial(of_two, Lstm::facts, plain.config, never).times);
  EngineFacts facts = here;
  facts.times = EngineTimes{.cudnn = 1.5, .fused = 1.25};
  CHECK(Lstm::choose(plain.config, facts)
            .text.starts_with("lstm: fused, because a window took 1.25 ms here, and 1.5 in cudnn"));
  RecurrentConfig asked = plain.config;
  asked.engine = Engine::cudnn;
  CHECK(Lstm::choose(asked, facts).text.ends_with("because it was asked for"));
}
