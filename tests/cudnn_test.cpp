// The engine `cudnn` over the stand-in: agreement with the other engines, where the weights lie, which calls are made,
// and planted faults.
#include "tests/standin/cudnn.h"

#include <array>
#include <tuple>

#include "layers/cudnn_algorithm.h"
#include "tests/agreement.h"
#include "tests/standin/standin.h"

using namespace unroll;
using standin::cudnn;
using standin::WeightLayout;

namespace {

// The stand-in as it was found. Nothing that a test makes may outlive it.
struct Fresh {
  Fresh() { renew(); }
  ~Fresh() { renew(); }
  static void renew() {
    const int live = cudnn().live;
    cudnn() = {};
    cudnn().live = live;
  }
};

struct Case {
  bool lstm = true;
  LstmConfig config = {};  // of a Gru too: it has less of it
  int steps = 4, batch = 3;
  std::vector<int32_t> lengths = {};

  GruConfig gru(LstmEngine engine) const {
    return {.input = config.input,
            .hidden = config.hidden,
            .layers = config.layers,
            .dropout = config.dropout,
            .locked_dropout = config.locked_dropout,
            .residual = config.residual,
            .bidirectional = config.bidirectional,
            .engine = engine,
            .algorithm = config.algorithm};
  }
  WindowCase window() const {
    const LstmConfig& c = config;
    const std::string name =
        fmt::format("{} {}->{} layers {} projection {} last {} dropout {}{}{}{} steps {} batch {} lengths {}",
                    lstm ? "lstm" : "gru", c.input, c.hidden, c.layers, c.projection, c.last_hidden,
                    c.dropout, c.locked_dropout ? " locked" : "", c.residual ? " residual" : "",
                    c.bidirectional ? " bidirectional" : "", steps, batch, lengths.size());
    return {.name = name,
            .layer = [self = *this](ParameterSet& params, LstmEngine engine) -> RecurrentLayer {
              LstmConfig c = self.config;
              c.engine = engine;
              if (self.lstm) return Lstm(params / "lstm", c);
              return Gru(params / "gru", self.gru(engine));
            },
            .steps = steps,
            .batch = batch,
            .lengths = {lengths.empty() ? IdTensor() : ids({batch}, lengths), Padding::after}};
  }
};

Case random_case(RandomStream& random) {
  const auto size = [&](uint32_t most) { return static_cast<int>(1 + random.below(most)); };
  const auto chance = [&] { return random.below(2) == 0; };
  Case c{.lstm = chance(),
         .config = {.input = size(6), .hidden = size(6), .layers = size(3)},
         .steps = size(5),
         .batch = size(3)};
  c.config.bidirectional = chance();
  if (c.config.layers > 1) {
    if (chance()) c.config.dropout = 0.4f, c.config.locked_dropout = chance();
    c.config.residual = random.below(4) == 0;
  }
  if (c.lstm && c.config.hidden > 1 && random.below(3) == 0) {
    if (chance() || c.config.layers == 1 || c.config.residual)
      c.config.projection = c.config.hidden - 1;
    else
      c.config.last_hidden = c.config.hidden - 1;
  }
  if (chance())
    for (int b = 0; b < c.batch; ++b)
      c.lengths.push_back(static_cast<int>(random.below(static_cast<uint32_t>(c.steps + 1))));
  return c;
}

void check_all_engines(const Case& c, bool sensitive, int windows = 1) {
  WindowCase w = c.window();
  w.windows = windows;
  check_agreement(w, {Window(w, LstmEngine::cudnn).run(), Window(w, LstmEngine::fused).run()}, c.config.input,
                  c.config.hidden, sensitive);
  CHECK(cudnn().refusal == "");
}

// The same for the precisions of 16 bits.
void check_in_16_bits(const Case& c, bool sensitive, int windows = 1) {
  WindowCase w = c.window();
  w.windows = windows;
  for (const Precision p : {Precision::bf16, Precision::fp16}) {
    std::vector<Results> results;
    for (const LstmEngine engine : {LstmEngine::cudnn, LstmEngine::fused, LstmEngine::composed}) {
      const WithPrecision rounded(p);
      results.push_back(Window(w, engine).run());
    }
    CAPTURE(name_of(p));
    check_agreement(w, results, roundings_of(p), sensitive);
    CHECK(cudnn().refusal == "");
  }
}
constexpr bool has_16_bits = sizeof(real) == sizeof(float);  // the core in double has no other precision

// Those of this core in which cuDNN has numbers of its own.
const std::vector<Precision>& precisions() {
  static const std::vector<Precision> all =
      has_16_bits ? std::vector{Precision::fp32, Precision::bf16, Precision::fp16}
                  : std::vector{Precision::fp32};
  return all;
}

const Case two_layers{.config = {.input = 3, .hidden = 5, .layers = 2}};

}  // namespace

TEST_CASE("cudnn, fused and composed agree to rounding, forward and backward, on 200 configurations") {
  const Fresh fresh;
  RandomStream random(5, "cases");
  for (int i = 0; i < 200; ++i) check_all_engines(random_case(random), false);
}

TEST_CASE(
    "they agree where it can be felt: states, lengths, directions, odd sizes, batch 1, several windows") {
  const Fresh fresh;
  for (const bool lstm : {true, false}) {
    Case c = two_layers;
    c.lstm = lstm;
    check_all_engines(c, true);
    check_all_engines(c, true, 3);
    c.config.bidirectional = true, c.lengths = {4, 1, 2};
    check_all_engines(c, true);
    c.config.dropout = 0.3f;
    check_all_engines(c, true, 2);
    check_all_engines({.lstm = lstm, .config = {.input = 7, .hidden = 9}, .steps = 6, .batch = 1}, true);
  }
}

TEST_CASE("in 16 bits the engines agree with fp32 to the roundings of the numbers, forward and backward") {
  if (!has_16_bits) return;
  const Fresh fresh;
  for (const bool lstm : {true, false}) {
    Case c = two_layers;
    c.lstm = lstm;
    check_in_16_bits(c, true);
    check_in_16_bits(c, true, 3);
    c.config.bidirectional = true, c.lengths = {4, 1, 2};
    check_in_16_bits(c, true);
    c.config.dropout = 0.3f;
    check_in_16_bits(c, true, 2);
  }
  Case projected = two_layers;
  projected.config.projection = 2;
  check_in_16_bits(projected, true);
  RandomStream random(6, "cases");
  for (int i = 0; i < 60; ++i) check_in_16_bits(random_case(random), false);
}

TEST_CASE("cuDNN sums in float, uses tensor cores for the numbers that were asked for, and TF32 only by name") {
  if (!has_16_bits) return;
  const Fresh fresh;
  using Row = std::tuple<Precision, cudnnDataType_t, cudnnMathType_t>;
  for (const auto& [p, type, mathematics] : {Row{Precision::fp32, CUDNN_DATA_FLOAT, CUDNN_FMA_MATH},
                                             Row{Precision::tf32, CUDNN_DATA_FLOAT, CUDNN_DEFAULT_MATH},
                                             Row{Precision::bf16, CUDNN_DATA_BFLOAT16, CUDNN_TENSOR_OP_MATH},
                                             Row{Precision::fp16, CUDNN_DATA_HALF, CUDNN_TENSOR_OP_MATH}}) {
    const WithPrecision rounded(p);
    const Window window(two_layers.window(), LstmEngine::cudnn);
    CHECK(cudnn().numbers.type == type);
    CHECK(cudnn().numbers.sums == CUDNN_DATA_FLOAT);
    CHECK(cudnn().numbers.mathematics == mathematics);
  }
}

TEST_CASE("in 16 bits cuDNN reads a copy of the weights, and the model's stay as they are") {
  if (!has_16_bits) return;
  const Fresh fresh;
  for (const Precision p : {Precision::bf16, Precision::fp16}) {
    const WithPrecision rounded(p);
    Window window(two_layers.window(), LstmEngine::cudnn);
    const Tensor before = window.params.values().clone();
    window.run();
    CHECK(same_bits(window.params.values(), before));
    for (const auto& parameter : window.params.all()) CHECK(cudnn().weights != parameter->value.data());
    // All of it has half the bytes that the parameters have.
    CHECK(standin::owns(cudnn().weights, static_cast<size_t>(window.params.count()) * 2));
  }
}

TEST_CASE("one call serves the whole stack, but for what acts between layers") {
  const Fresh fresh;
  const auto calls = [](auto change) {
    Case c = two_layers;
    change(c);
    const auto before = cudnn().calls;
    Window(c.window(), LstmEngine::cudnn).run();
    const auto after = cudnn().calls;
    CHECK(after.backward_data - before.backward_data == after.forward - before.forward);
    CHECK(after.backward_weights - before.backward_weights == after.forward - before.forward);
    return after.forward - before.forward;
  };
  CHECK(calls([](Case&) {}) == 1);
  CHECK(calls([](Case& c) { c.config.bidirectional = true, c.lengths = {1, 4, 3}; }) == 1);
  CHECK(calls([](Case& c) { c.lstm = false; }) == 1);
  CHECK(calls([](Case& c) { c.config.dropout = 0.5f; }) == 2);
  CHECK(calls([](Case& c) { c.config.residual = true; }) == 2);
  CHECK(calls([](Case& c) { c.config.last_hidden = 2; }) == 2);
  CHECK(calls([](Case& c) { c.config.layers = 1, c.config.dropout = 0.5f; }) == 1);
}

TEST_CASE("the parameters are cuDNN's weight space where one bias serves, whatever acts between layers") {
  const Fresh fresh;
  const auto in_place = [](const Case& c) {
    Window window(c.window(), LstmEngine::cudnn);
    window.run();
    // Of the call that came last: for all layers, or the last one.
    const std::string first = c.config.dropout > 0 ? "_l1" : "_l0";
    return cudnn().weights ==
           window.params.find((c.lstm ? "lstm.weight_ih" : "gru.weight_ih") + first)->value.data();
  };
  Case c = two_layers;
  CHECK(in_place(c));
  c.config.bidirectional = true;
  CHECK(in_place(c));
  c.config.dropout = 0.5f;
  CHECK(in_place(c));
  c.config.projection = 2;
  CHECK(in_place(c));
  c = two_layers;
  c.lstm = false;
  CHECK_FALSE(in_place(c));  // a bias inside the reset gate: two biases
}

TEST_CASE("another layout of weights than the expected one is served by a copy") {
  const Fresh fresh;
  for (const WeightLayout layout : {WeightLayout::aligned, WeightLayout::by_layer, WeightLayout::last_first})
    for (const bool lstm : {true, false}) {
      cudnn().layout = layout;
      Case c = two_layers;
      c.lstm = lstm, c.config.bidirectional = true;
      check_all_engines(c, true, 2);
      Window window(c.window(), LstmEngine::cudnn);
      window.run();
      CHECK(cudnn().weights != window.params.all().front()->value.data());
    }
}

TEST_CASE("a copy of the weights has what the last step made of them") {
  const Fresh fresh;
  Case c = two_layers;
  c.lstm = false;
  Window cudnns(c.window(), LstmEngine::cudnn), fused(c.window(), LstmEngine::fused);
  cudnns.run();
  for (const auto& p : cudnns.params.all()) {
    for (real& v : p->value.on_host(Access::change)) v *= real(1.5);
    for (real& v : fused.params.find(p->name)->value.on_host(Access::change)) v *= real(1.5);
    p->node.gradient.spend();
  }
  const Results one = cudnns.run(), other = fused.run();
  for (size_t i = 0; i < 3; ++i)
    CHECK(distance(one[i].second, other[i].second) <= 100 * std::numeric_limits<real>::epsilon());
}

TEST_CASE("a copy of the weights is renewed once a step, and without a tape in each call") {
  const Fresh fresh;
  for (const Precision p : precisions()) {
    const WithPrecision rounded(p);
    Case c = two_layers;
    c.lstm = false;
    Window window(c.window(), LstmEngine::cudnn);
    const auto y = [&] {
      return window.layer(Var(window.x), {Var(window.h0), Var()}, window.lengths).y.value().clone();
    };
    const Tensor& weights = window.params.values();
    const auto change = [&] {
      for (real& v : weights.on_host(Access::change)) v *= real(1.5);
    };
    Tensor first;
    {
      Tape tape;
      first = y();
      change();
      CHECK(same_bits(y(), first));  // of this tape: the weights are those it began with
    }
    {
      Tape tape({.part = 1});
      CHECK(same_bits(y(), first));  // whose gradients are of the same step
    }
    Tensor second;
    {
      Tape tape;
      second = y();
      CHECK(distance(second, first) > 0.01);
    }
    change();
    const Tensor third = y();
    CHECK(distance(third, second) > 0.01);
    change();
    CHECK(distance(y(), third) > 0.01);
    {
      Tape tape({.part = 1});  // what went before was no part of a step
      const Tensor fourth = y();
      CHECK(distance(fourth, third) > 0.01);
    }
    {
      const Tape between;
    }
    Tape tape({.part = 2});  // not the tape after the one before
    CHECK(distance(y(), third) > 0.01);
    Window fresh_one(c.window(), LstmEngine::cudnn);
    fresh_one.params.values().copy_from(weights);
    const Tensor now = y();
    CHECK(same_bits(fresh_one.layer(Var(window.x), {Var(window.h0), Var()}, window.lengths).y.value(), now));
  }
}

TEST_CASE("without a tape nothing is reserved, and the values are the same bits") {
  const Fresh fresh;
  for (const bool lstm : {true, false}) {
    Case c = two_layers;
    c.lstm = lstm, c.lengths = {4, 0, 3};
    Window window(c.window(), LstmEngine::cudnn);
    const Results training = window.run();
    const auto calls = cudnn().calls;
    const auto out = window.layer(Var(window.x), {Var(window.h0), Var(window.c0)}, window.lengths);
    CHECK(same_bits(out.y.value(), training[0].second));
    CHECK(same_bits(out.state.h.value(), training[1].second));
    CHECK(cudnn().calls.forward == calls.forward + 1);
    CHECK(cudnn().calls.backward_data == calls.backward_data);
  }
}

TEST_CASE("after the first windows a window takes no memory of the device and waits for nothing") {
  const Fresh fresh;
  for (const Precision p : precisions())
    for (const bool lstm : {true, false}) {
      const WithPrecision rounded(p);
      Case c = two_layers;
      c.lstm = lstm, c.config.dropout = 0.5f;
      Window window(c.window(), LstmEngine::cudnn);
      const auto run = [&] {
        Tape tape;
        const auto out = window.layer(tape.watch(window.x), {Var(window.h0), Var(window.c0)});
        tape.backward(sum(out.y));
        window.params.spend_gradients();
      };
      for (int i = 0; i < 3; ++i) run();
      const auto before = standin::control();
      for (int i = 0; i < 3; ++i) run();
      CHECK(standin::control().allocations == before.allocations);
      CHECK(standin::control().synchronizations == before.synchronizations);
    }
}

TEST_CASE("persistent algorithms agree too, with weights that are a copy with two biases") {
  const Fresh fresh;
  for (const CudnnAlgorithm algorithm :
       {CudnnAlgorithm::persistent, CudnnAlgorithm::persistent_small, CudnnAlgorithm::persistent_dynamic}) {
    if (sizeof(real) == sizeof(double) && algorithm != CudnnAlgorithm::persistent_dynamic) continue;
    for (const bool lstm : {true, false}) {
      Case c = two_layers;
      c.lstm = lstm, c.config.algorithm = algorithm, c.config.bidirectional = true;
      check_all_engines(c, true, 2);
      Window window(c.window(), LstmEngine::cudnn);
      CHECK(lacks(window.layer.choice().text, {fmt::format("cudnn, {}, 2 x 5", name_of(algorithm))}) == "");
      window.run();
      CHECK(cudnn().weights != window.params.all().front()->value.data());
    }
  }
}

TEST_CASE("persistent algorithms take fp16, and of bf16 the one that is compiled for it") {
  if (!has_16_bits) return;
  const Fresh fresh;
  for (const CudnnAlgorithm algorithm :
       {CudnnAlgorithm::persistent, CudnnAlgorithm::persistent_small, CudnnAlgorithm::persistent_dynamic})
    for (const Precision p : {Precision::bf16, Precision::fp16}) {
      Case c = two_layers;
      c.config.algorithm = algorithm, c.config.bidirectional = true;
      const WindowCase w = c.window();
      if (p == Precision::bf16 && algorithm != CudnnAlgorithm::persistent_dynamic) {
        const WithPrecision rounded(p);
        CHECK(lacks(input_error_of([&] { Window(w, LstmEngine::cudnn); }), {"take no numbers in bf16"}) ==
              "");
        continue;
      }
      Results results;
      {
        const WithPrecision rounded(p);
        results = Window(w, LstmEngine::cudnn).run();
      }
      check_agreement(w, {results}, roundings_of(p), true);
    }
}

TEST_CASE("of the algorithms that serve the fastest is taken, by the clock that is given") {
  const Fresh fresh;
  // Each is timed three times; what a run takes by this clock:
  std::vector<double> durations;
  size_t reading = 0;
  double time = 100;
  const auto clock = [&] {
    if (reading % 2 == 1) time += durations.at(reading / 2);
    ++reading;
    return time;
  };
  const auto measured = [&](const LstmConfig& config, std::vector<double> taken) {
    durations = std::move(taken), reading = 0;
    const auto result = measure_algorithms(config, 4, 3, clock);
    CHECK(reading == 2 * durations.size());
    return result;
  };
  const LstmConfig config{.input = 3, .hidden = 5, .layers = 2};
  if constexpr (sizeof(real) == sizeof(float)) {
    const auto all = measured(config, {3, 2, 2.5, 9, 1, 9, 4, 4, 4, 2, 2, 2});
    REQUIRE(all.size() == 4);
    CHECK(all[0].seconds == 2);
    CHECK(all[1].seconds == 1);
    CHECK(all[3].seconds == 2);
    CHECK(fastest(all) == CudnnAlgorithm::persistent);
    cudnn().persistent_units = 4;  // this GPU's: only the library knows
    const auto fewer = measured(config, {3, 2, 2.5, 4, 4, 4, 2, 2, 2});
    CHECK(lacks(fewer[1].why_not, {"NOT_SUPPORTED"}) == "");
    CHECK(fastest(fewer) == CudnnAlgorithm::standard);  // the first of two that take as long
    const auto wide = measured({.input = 3, .hidden = 193}, {3, 2, 2.5, 1, 1, 1});
    CHECK(lacks(wide[2].why_not, {"192 units"}) == "");
    CHECK(fastest(wide) == CudnnAlgorithm::persistent_dynamic);
  } else {
    const auto all = measured(config, {3, 2, 2.5, 1, 1, 1});
    CHECK(lacks(all[1].why_not, {"double"}) == "");
    CHECK(fastest(all) == CudnnAlgorithm::persistent_dynamic);
  }
  LstmConfig projected = config;
  projected.projection = 2;
  for (const MeasuredAlgorithm& m : measured(projected, {3, 2, 1}))
    CHECK(m.why_not.empty() == (m.algorithm == CudnnAlgorithm::standard));
  durations.assign(12, 1), reading = 0;
  CHECK(fastest(measure_algorithms(GruConfig{.input = 3, .hidden = 5}, 4, 3, clock)) ==
        CudnnAlgorithm::standard);
  LstmConfig impossible = config;
  impossible.peepholes = true;
  CHECK(lacks(input_error_of([&] { measure_algorithms(impossible, 4, 3, clock); }), {"peepholes"}) == "");
}

TEST_CASE("what is trained with is to be measured, documented, or what was asked for") {
  LstmConfig config{.input = 3, .hidden = 5};
  const auto known = [&](bool deterministic) { return algorithm_without_measuring(config, 4, 3, deterministic); };
  CHECK(known(false) == std::nullopt);
  CHECK(known(true) == CudnnAlgorithm::standard);
  config.algorithm = CudnnAlgorithm::persistent_dynamic;
  CHECK(known(false) == CudnnAlgorithm::persistent_dynamic);
  CHECK(known(true) == CudnnAlgorithm::persistent_dynamic);
  config.algorithm = CudnnAlgorithm::automatic;
  config.peepholes = true;  // which fused computes
  CHECK(known(false) == CudnnAlgorithm::automatic);
  config = {.input = 3, .hidden = 5, .engine = LstmEngine::composed};
  CHECK(known(false) == CudnnAlgorithm::automatic);
  CHECK(algorithm_without_measuring(GruConfig{.input = 3, .hidden = 5}, 4, 3, false) == std::nullopt);
  CHECK(algorithm_without_measuring(GruConfig{.input = 3, .hidden = 5}, 4, 3, true) == CudnnAlgorithm::standard);
}

TEST_CASE("a layer says that cuDNN computes it, and a Gru too") {
  ParameterSet params;
  const Lstm lstm(params / "lstm", {.input = 3, .hidden = 5, .layers = 2});
  const Gru gru(params / "gru", {.input = 3, .hidden = 5});
  if constexpr (sizeof(real) == sizeof(float)) CHECK(lstm.choice().text == "lstm: cudnn, standard, 2 x 5");
  CHECK(lstm.choice().engine == LstmEngine::cudnn);
  CHECK(gru.choice().engine == LstmEngine::cudnn);
}

TEST_CASE("rows that are padded before their steps are refused in the user's words") {
  Case c = two_layers;
  c.lengths = {4, 1, 2};
  for (const bool lstm : {true, false}) {
    c.lstm = lstm;
    WindowCase w = c.window();
    w.lengths.padding = Padding::before;
    Window window(w, LstmEngine::cudnn);
    CHECK(lacks(input_error_of([&] { window.run(); }), {"padded before", "'fused'"}) == "");
  }
}

TEST_CASE("planted: a workspace one byte short is an error that names the call") {
  const Fresh fresh;
  cudnn().too_few_bytes = 1;
  Window window(two_layers.window(), LstmEngine::cudnn);
  CHECK(error_of([&] { window.run(); }) ==
        "cuDNN has failed: cudnnRNNForward reports CUDNN_STATUS_BAD_PARAM");
  CHECK(cudnn().refusal == "forward: the size of the workspace");
}

TEST_CASE("planted: weights in another order than the library says are seen in the results") {
  const Fresh fresh;
  const WindowCase w = two_layers.window();
  const Results right = Window(w, LstmEngine::composed).run();
  cudnn().layout = WeightLayout::last_first, cudnn().lies_about_layout = true;
  for (const Precision p : precisions()) {
    const WithPrecision rounded(p);
    const Results wrong = Window(w, LstmEngine::cudnn).run();
    CHECK(distance(right[0].second, wrong[0].second) > 0.1);
  }
}

TEST_CASE("planted: in 16 bits, what is beyond half precision's range is infinite and not cut off") {
  if (!has_16_bits) return;
  const Fresh fresh;
  for (const Precision p : {Precision::bf16, Precision::fp16}) {
    const WithPrecision rounded(p);
    Window window(two_layers.window(), LstmEngine::cudnn);
    window.of_y.fill(65'520);  // the gradient of y
    const Results results = window.run();
    bool finite = true;
    for (const auto& [name, tensor] : results)
      for (const real v : tensor.on_host()) finite &= std::isfinite(v);
    CHECK(finite == (p == Precision::bf16));
  }
}

TEST_CASE("planted: a second backward on one reserve is an error") {
  const Fresh fresh;
  Window window(two_layers.window(), LstmEngine::cudnn);
  Tape tape;
  const auto out = window.layer(tape.watch(window.x), {Var(window.h0), Var(window.c0)});
  const Var loss = sum(out.y);
  tape.backward(loss);
  CHECK(error_of([&] { tape.backward(loss); }) != "");
  CHECK(cudnn().calls.backward_data == 1);
}

TEST_CASE("planted: numbers that a GPU does not have are refused by name") {
  if (!has_16_bits) return;
  const Fresh fresh;
  const int before = standin::control().capability;
  for (const auto& [p, capability] : {std::pair{Precision::bf16, 75}, {Precision::fp16, 52}}) {
    const WithPrecision rounded(p);
    Window window(two_layers.window(), LstmEngine::cudnn);
    standin::control().capability = capability;
    CHECK_THROWS_AS(window.run(), CudnnRefusal);
    CHECK(cudnn().refusal == "forward: this GPU has no such numbers");
    standin::control().capability = before;
  }
}

TEST_CASE("planted: weights that change between forward and backward are an error") {
  const Fresh fresh;
  Window window(two_layers.window(), LstmEngine::cudnn);
  Tape tape;
  const auto out = window.layer(tape.watch(window.x), {Var(window.h0), Var(window.c0)});
  window.params.all().front()->value.fill(0);
  CHECK(error_of([&] { tape.backward(sum(out.y)); }) ==
        "cuDNN has failed: cudnnRNNBackwardData reports CUDNN_STATUS_BAD_PARAM");
  CHECK(cudnn().refusal == "backward data: other weights went forward");
}
