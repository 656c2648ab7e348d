// Fine-tuning: gradients where some parameters are frozen, for every weight of every layer by every engine.
#include "tests/layers/frozen.h"

#include "framework/loss.h"
#include "layers/dense.h"
#include "layers/embedding.h"
#include "layers/highway.h"
#include "layers/norm.h"
#include "layers/recurrent/gru.h"
#include "layers/recurrent/lstm.h"
#include "layers/recurrent/rnn.h"
#include "tests/layers/lstm_cases.h"

using namespace unroll;

namespace {

std::string text_of(const CellFacts& cell, const RecurrentConfig& config) {
  std::string text = fmt::format("{} of {} layers", cell.name, config.layers);
  for (const RecurrentOption& option : recurrent_options)
    if (is_set(option, config)) text += fmt::format(", {} {}", option.name, value_of(option, config));
  return text;
}

// On each engine that serves here.
template <class Layer>
void check_on_every_engine(RecurrentConfig config, const Lengths& lengths = {}, const IdTensor& resets = {}) {
  std::vector<Engine> engines = {Engine::composed, Engine::fused};
  const auto padding = !lengths.steps.defined()             ? WindowFacts::Lengths::none
                       : lengths.padding == Padding::before ? WindowFacts::Lengths::padded_before
                                                            : WindowFacts::Lengths::padded_after;
  if (Layer::choose(config, engine_facts(), {.lengths = padding, .resets = resets.defined()}).engine ==
      Engine::cudnn)
    engines.push_back(Engine::cudnn);
  for (const Engine engine : engines) {
    config.engine = engine;
    ParameterSet params(17);
    const Layer layer(params / Layer::facts.name, config);
    // The weights that the cells list are all that there are.
    size_t listed = 0;
    for (size_t k = 0; k < layer.cells().size(); ++k) listed += layer.weights(static_cast<int>(k)).size();
    CHECK(listed == params.all().size());
    const RecurrentState zero = layer.zero_state(2);
    std::vector<Shape> shapes = {{3, 2, config.input}, zero.h.shape()};
    if (zero.c.defined()) shapes.push_back(zero.c.shape());
    check_frozen(fmt::format("{} {}{}{}", name_of(engine), text_of(Layer::facts, config),
                             lengths.steps.defined() ? ", padded" : "", resets.defined() ? ", resets" : ""),
                 params, shapes, [&](auto& v) {
                   const auto out = layer(v[0], {v[1], zero.c.defined() ? v[2] : Var()}, lengths, resets);
                   std::vector<Var> all = {out.y, out.state.h};
                   if (zero.c.defined()) all.push_back(out.state.c);
                   return all;
                 });
  }
}

// Every option of the table that the cell has, alone and together.
template <class Layer>
void check_with_every_option() {
  const RecurrentConfig plain{.input = 4, .hidden = 4, .layers = 2};
  check_on_every_engine<Layer>(plain);
  for (const RecurrentConfig& config : options_alone(Layer::facts, plain))
    check_on_every_engine<Layer>(config);
  for (const Padding padding : {Padding::after, Padding::before})
    check_on_every_engine<Layer>(plain, {ids({2}, {2, 3}), padding});
  RecurrentConfig all{.input = 3, .hidden = 4};
  for (const RecurrentConfig& config : options_alone(Layer::facts, all))
    for (const RecurrentOption& option : recurrent_options)
      if (is_set(option, config) && !option.needs_layers && &option != &option_named("bidirectional"))
        std::visit([&](auto member) { all.*member = config.*member; }, option.member);
  check_on_every_engine<Layer>(all, {ids({2}, {2, 3})});
  check_on_every_engine<Layer>(plain, {}, ids({3, 2}, {0, 0, 1, 0, 0, 1}));
  // In one row alone: cell_clip and a short row leave little of the gradient of the first c.
  check_on_every_engine<Layer>(all, {ids({2}, {2, 3})}, ids({3, 2}, {0, 0, 0, 1, 0, 0}));
}

}  // namespace

TEST_CASE("an LSTM's weights collect their gradients whatever else is frozen, with every option") {
  check_with_every_option<Lstm>();
}
TEST_CASE("a GRU's weights collect their gradients whatever else is frozen, with every option") {
  check_with_every_option<Gru>();
}

TEST_CASE("a plain network's weights collect their gradients whatever else is frozen, with every option") {
  check_with_every_option<Rnn>();
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
  for (const Engine engine : {Engine::composed, Engine::fused, Engine::automatic}) {
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
