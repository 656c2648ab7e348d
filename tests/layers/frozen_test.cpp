// Fine-tuning: gradients where some parameters are frozen, for every weight of every layer by every engine.
#include "tests/layers/frozen.h"

#include "framework/loss.h"
#include "layers/dense.h"
#include "layers/embedding.h"
#include "layers/recurrent/gru.h"
#include "layers/highway.h"
#include "layers/layer_norm.h"
#include "layers/recurrent/lstm.h"
#include "tests/layers/lstm_cases.h"

using namespace unroll;

namespace {

constexpr CudnnAlgorithm algorithms[] = {CudnnAlgorithm::standard, CudnnAlgorithm::persistent};

// Calls check(config) for each engine that serves here; cuDNN's with one bias, which is in place, and with two.
template <class Config, class Choose, class Check>
void for_each_engine(Config config, Choose choose, Check check) {
  for (const LstmEngine engine : {LstmEngine::composed, LstmEngine::fused}) {
    config.engine = engine;
    check(config);
  }
  for (const CudnnAlgorithm algorithm : algorithms) {
    config.engine = LstmEngine::automatic, config.algorithm = algorithm;
    if (choose(config, engine_facts(), {}).engine == LstmEngine::cudnn) check(config);
  }
}

void check_lstm(const LstmCase& given) {
  for_each_engine(given.config, choose_lstm, [&](const LstmConfig& config) {
    if (config.engine == LstmEngine::automatic && given.padded && given.padding == Padding::before) return;
    LstmCase c = given;
    c.config = config;
    ParameterSet params(17);
    const Lstm lstm(params / "lstm", config);
    const Lengths lengths = c.lengths();
    check_frozen(c.name() + " " + std::string(name_of(config.algorithm)), params, c.shapes(), [&](auto& v) {
      const auto out = lstm(v[0], {v[1], v[2]}, lengths);
      return std::vector{out.y, out.state.h, out.state.c};
    });
  });
}

void check_gru(const char* name, const GruConfig& given, const Lengths& lengths = {}) {
  for_each_engine(given, choose_gru, [&](const GruConfig& config) {
    if (config.engine == LstmEngine::automatic && lengths.padding == Padding::before) return;
    ParameterSet params(17);
    const Gru gru(params / "gru", config);
    const int states = config.layers * config.directions();
    check_frozen(fmt::format("{} gru, {} {}", name_of(gru.choice().engine), name, name_of(config.algorithm)),
                 params, {{3, 2, config.input}, {states, 2, config.hidden}}, [&](auto& v) {
                   const auto out = gru(v[0], v[1], lengths);
                   return std::vector{out.y, out.h};
                 });
  });
}

}  // namespace

TEST_CASE("an LSTM's weights collect their gradients whatever else is frozen, with every option") {
  for (const LstmCase& c : lstm_options_alone(3, 4, 2, 3, 2)) check_lstm(c);
  LstmCase all{.config = {.input = 3,
                          .hidden = 4,
                          .layers = 1,
                          .recurrent_dropout = 0.3f,
                          .weight_drop = 0.4f,
                          .zoneout_h = 0.2f,
                          .zoneout_c = 0.2f,
                          .projection = 2,
                          .layer_norm = true,
                          .peepholes = true,
                          .gate_activation = Unary::hard_sigmoid,
                          .cell_activation = Unary::softsign},
               .padded = true};
  check_lstm(all);
}

TEST_CASE("a GRU's weights collect their gradients whatever else is frozen, with every option") {
  const GruConfig two{.input = 4, .hidden = 4, .layers = 2};
  const auto with = [&](auto change) {
    GruConfig config = two;
    change(config);
    return config;
  };
  check_gru("plain", two);
  check_gru("dropout", with([](GruConfig& c) { c.dropout = 0.4f; }));
  check_gru("recurrent dropout", with([](GruConfig& c) { c.recurrent_dropout = 0.3f; }));
  check_gru("weight drop", with([](GruConfig& c) { c.weight_drop = 0.5f; }));
  check_gru("zoneout", with([](GruConfig& c) { c.zoneout = 0.3f; }));
  check_gru("residual", with([](GruConfig& c) { c.residual = true; }));
  check_gru("both directions", with([](GruConfig& c) { c.layers = 1, c.bidirectional = true; }));
  check_gru("lengths", two, {ids({2}, {2, 3})});
  check_gru("lengths, padded before", two, {ids({2}, {2, 3}), Padding::before});
}

TEST_CASE("layers collect their gradients whatever else is frozen") {
  for (const Activation f : {Activation::none, Activation::tanh, Activation::sigmoid})
    for (const bool bias : {true, false}) {
      ParameterSet params(3);
      const Dense dense(params / "dense", {.in = 3, .out = 4, .bias = bias, .activation = f});
      check_frozen("dense", params, {{5, 3}}, [&](auto& v) { return std::vector{dense(v[0])}; });
    }
  {
    ParameterSet params(3);
    const LayerNorm norm(params / "norm", {.dim = 4});
    check_frozen("layer norm", params, {{5, 4}}, [&](auto& v) { return std::vector{norm(v[0])}; });
  }
  {
    ParameterSet params(3);
    const Highway highway(params / "highway", {.length = 2, .out = 3});
    const int channels[] = {0, 2};
    check_frozen("highway", params, {{4, 2, 3}},
                 [&](auto& v) { return std::vector{highway(v[0], channels)}; });
  }
}

TEST_CASE("the losses collect their gradients whatever else is frozen, their decoder tied or not") {
  const IdTensor words = ids({3, 2}, {0, 4, 1, 1, 2, 3}), next = ids({3, 2}, {4, 1, 0, 2, 3, -1});
  for (const Reduction reduction : {Reduction::mean, Reduction::sum, Reduction::none})
    for (const bool bias : {true, false})
      for (const bool tied : {true, false})
        for (const bool fused : {true, false}) {
          ParameterSet params(3);
          const Embedding embed(params / "embed", {.vocab = 5, .dim = 3});
          const DenseConfig config{.in = 3, .out = 5, .bias = bias};
          const Dense out =
              tied ? Dense(params / "out", config, embed.weight) : Dense(params / "out", config);
          const CrossEntropyOptions options{.reduction = reduction, .chunk_rows = 2};
          check_frozen(fmt::format("decoder {} {} {} {}", int(reduction), bias, tied, fused), params,
                       {{3, 2, 3}}, [&](auto& v) {
                         const Var x = embed(words) + v[0];
                         return std::vector{fused ? softmax_cross_entropy(out, x, next, options)
                                                  : softmax_cross_entropy(out(x), next, options)};
                       });
        }
  {
    ParameterSet params(3);
    const Tensor target = tensor({2, 2}, {0.3, -0.4, 1, 0.1});
    const Dense mean(params / "mean", {.in = 3, .out = 2}), width(params / "width", {.in = 3, .out = 2});
    check_frozen("series", params, {{2, 3}}, [&](auto& v) {
      const Var m = mean(v[0]), s = softplus(width(v[0]));
      const double quantiles[] = {0.1, 0.8};
      return std::vector{gaussian_loss(m, s, target), quantile_loss({m, m + s}, target, quantiles),
                         mean_squared_error(m, target),
                         binary_cross_entropy(m, tensor({2, 2}, {0, 1, 1, 0}))};
    });
  }
}

TEST_CASE("attention between an encoder and a decoder whose first state is learned") {
  for (const LstmEngine engine : {LstmEngine::composed, LstmEngine::fused, LstmEngine::automatic}) {
    ParameterSet params(3);
    const auto parameter = [&](const char* name) {
      return params.add(name, {1, 1, 3}, Init::uniform(-1, 1)).var();
    };
    const Var h0 = parameter("h0"), c0 = parameter("c0");
    const Lstm encoder(params / "encoder", {.input = 2, .hidden = 3, .engine = engine}),
        decoder(params / "decoder", {.input = 2, .hidden = 3, .engine = engine});
    check_frozen("attention", params, {{4, 2, 2}, {3, 2, 2}}, [&](auto& v) {
      const auto [keys, read] = encoder(v[0], {broadcast_to(h0, {1, 2, 3}), broadcast_to(c0, {1, 2, 3})});
      const auto [queries, end] = decoder(v[1], read);
      const Var of_row = transpose(keys, 0, 1), q = transpose(queries, 0, 1);
      const Var weights = softmax(matmul(q, transpose(of_row, 1, 2)));
      return std::vector{concat({q, matmul(weights, of_row)}, 2), end.c};
    });
  }
}
