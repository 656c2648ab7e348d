// The engine `cudnn` over the stand-in: which calls are made, with which numbers, and what becomes of the memory and the weights.
#include <tuple>

#include "framework/graph.h"
#include "framework/profile.h"
#include "tests/layers/cudnn_cases.h"

using namespace unroll;

TEST_CASE(
    "cuDNN sums in float, uses tensor cores for the numbers that were asked for, and TF32 only by name") {
  if (!has_16_bits) return;
  const Fresh fresh;
  using Row = std::tuple<Precision, cudnnDataType_t, cudnnMathType_t>;
  for (const auto& [p, type, mathematics] : {Row{Precision::fp32, CUDNN_DATA_FLOAT, CUDNN_FMA_MATH},
                                             Row{Precision::tf32, CUDNN_DATA_FLOAT, CUDNN_DEFAULT_MATH},
                                             Row{Precision::bf16, CUDNN_DATA_BFLOAT16, CUDNN_TENSOR_OP_MATH},
                                             Row{Precision::fp16, CUDNN_DATA_HALF, CUDNN_TENSOR_OP_MATH}}) {
    const WithPrecision rounded(p);
    const Window window(two_layers.window(), Engine::cudnn);
    CHECK(cudnn().numbers.type == type);
    CHECK(cudnn().numbers.sums == CUDNN_DATA_FLOAT);
    CHECK(cudnn().numbers.mathematics == mathematics);
  }
}

TEST_CASE("one call serves the whole stack, but for what acts between layers") {
  const Fresh fresh;
  const auto calls = [](auto change) {
    Case c = two_layers;
    change(c);
    const auto before = cudnn().calls;
    Window(c.window(), Engine::cudnn).run();
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
  CHECK(calls([](Case& c) { c.config.layers = 1; }) == 1);
}

TEST_CASE("without a tape nothing is reserved, and the values are the same bits") {
  const Fresh fresh;
  for (const bool lstm : {true, false}) {
    Case c = two_layers;
    c.lstm = lstm, c.lengths = {4, 0, 3};
    Window window(c.window(), Engine::cudnn);
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
      Window window(c.window(), Engine::cudnn);
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

TEST_CASE("products within cuDNN are counted as fused counts its own") {
  const Fresh fresh;
  for (const RecurrentConfig& config :
       {RecurrentConfig{.input = 3, .hidden = 4, .layers = 2},
        RecurrentConfig{.input = 3, .hidden = 5, .projection = 2, .bidirectional = true}}) {
    int64_t counted[2] = {};
    for (const Engine engine : {Engine::fused, Engine::cudnn}) {
      RecurrentConfig of_engine = config;
      of_engine.engine = engine;
      ParameterSet params;
      const Lstm lstm(params / "lstm", of_engine);
      Parameter& x = params.add("x", {5, 2, 3}, Init::constant(1));
      const int64_t before = products_done.flops;
      Tape tape;
      tape.backward(sum(lstm(x.var(), lstm.zero_state(2)).y));
      counted[engine == Engine::cudnn] = products_done.flops - before;
    }
    // fused leaves out the gradient of a first state that nobody wants
    const int64_t of_first_state = int64_t{2} * 2 * 4 * config.hidden *
                                   (config.projection > 0 ? config.projection : config.hidden) *
                                   config.layers * (config.bidirectional ? 2 : 1);
    CHECK(counted[1] == counted[0] + of_first_state);
    CHECK(counted[0] > 0);
  }
}

TEST_CASE("rows without a step, some or all, agree by every engine and keep their state, by any cuDNN") {
  const Fresh fresh;
  for (const std::size_t version : {std::size_t{8'900}, std::size_t{8'901}, std::size_t{CUDNN_VERSION}})
    for (const bool lstm : {true, false})
      for (const std::vector<int32_t>& lengths : {std::vector<int32_t>{4, 0, 2}, {0, 0, 0}, {0, 3, 0}}) {
        Case c = two_layers;
        cudnn().version = version;
        c.lstm = lstm, c.lengths = lengths;
        check_all_engines(c, false);
        c.config.bidirectional = true, c.config.dropout = 0.3f, c.config.residual = true;
        check_all_engines(c, false, 2);
      }
}

TEST_CASE("lengths go to the device for a cuDNN before 8.9.1 alone") {
  const Fresh fresh;
  const auto takes = [](std::size_t version) {
    cudnn().version = version;
    Case c = two_layers;
    c.lengths = {4, 1, 2};
    Window window(c.window(), Engine::cudnn);
    window.run();
    const int64_t before = standin::control().calls;
    window.run();
    return standin::control().calls - before;
  };
  CHECK(takes(8'900) > takes(8'901));
}

TEST_CASE("a layer says that cuDNN computes it, and a Gru too") {
  ParameterSet params;
  const Lstm lstm(params / "lstm", {.input = 3, .hidden = 5, .layers = 2});
  const Gru gru(params / "gru", {.input = 3, .hidden = 5});
  if constexpr (sizeof(real) == sizeof(float)) CHECK(lstm.choice().text == "lstm: cudnn, 2 x 5");
  CHECK(lstm.choice().engine == Engine::cudnn);
  CHECK(gru.choice().engine == Engine::cudnn);
}

TEST_CASE("rows that are padded before their steps are refused in the user's words") {
  Case c = two_layers;
  c.lengths = {4, 1, 2};
  for (const bool lstm : {true, false}) {
    c.lstm = lstm;
    WindowCase w = c.window();
    w.lengths.padding = Padding::before;
    Window window(w, Engine::cudnn);
    CHECK(lacks(input_error_of([&] { window.run(); }), {"padded before", "'fused'"}) == "");
  }
}
