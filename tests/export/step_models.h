// Models with a plan of their step, for the suites of steps: every option of every cell alone, many together, and what stands
// around recurrent layers.
#pragma once

#include <memory>

#include "export/real_time_step.h"
#include "export/step_of.h"
#include "tests/layers/lstm_cases.h"

namespace unroll {

// A model, and its values by the layers themselves.
struct StepModel {
  std::string name;
  std::shared_ptr<ParameterSet> params;
  StepPlan plan;
  int inputs = 0, vocab = 0;  // one of them is 0
  std::function<Tensor(const Tensor& x, const IdTensor& tokens)>
      whole;  // of a window [steps, 1, …] -> y [steps, 1, outputs]

  int outputs() const {
    for (const StepArray& array : plan.arrays)
      if (array.kind == StepArray::Kind::output) return static_cast<int>(array.size);
    return 0;
  }
};

inline StepModel recurrent_model(CellKind cell, const RecurrentConfig& config) {
  const auto params = std::make_shared<ParameterSet>();
  const RecurrentLayer layers(*params / facts_of(cell).name, cell, config);
  const Dense out(*params / "out", {.in = config.output(), .out = 3});
  params->initialize(Init::uniform(-0.5f, 0.5f));
  for (Parameter* p : *params)  // with gains of 1 rounding may grow from step to step
    if (p->name.find(".norm_") != std::string::npos)
      for (real& gain : Tensor(p->var().value()).on_host(Access::change)) gain *= real(0.4);
  std::string name = describe_layers(facts_of(cell), config);
  for (const RecurrentOption& option : recurrent_options)
    if (is_set(option, config)) name += fmt::format(" {}={}", option.name, value_of(option, config));
  return {name,
          params,
          step_of(*params, config.input, layers, out),
          config.input,
          0,
          [=](const Tensor& x, const IdTensor&) { return out(layers(x, layers.zero_state(1)).y).value(); }};
}

// A norm whose epsilon counts, and a dense layer of each function.
inline StepModel dense_model(Activation activation) {
  const auto params = std::make_shared<ParameterSet>();
  const LayerNorm norm(*params / "norm", {.dim = 4, .eps = 0.3f});
  const Dense out(*params / "out", {.in = 4, .out = 6, .activation = activation});
  params->initialize(Init::uniform(-0.5f, 0.5f));
  return {fmt::format("dense, function {}", static_cast<int>(activation)),
          params,
          step_of(*params, 4, norm, out),
          4,
          0,
          [=](const Tensor& x, const IdTensor&) { return out(norm(x)).value(); }};
}

// An embedding, one of the middles, and a decoder.
struct TokenModelOptions {
  bool tied = false, transformer = false, last_norm = true;
  int components = 0;
};
inline StepModel token_model(const TokenModelOptions& o) {
  constexpr int vocab = 13, width = 8;
  const auto params = std::make_shared<ParameterSet>();
  const Embedding embed(*params / "embedding", {.vocab = vocab, .dim = width});
  std::shared_ptr<const RecurrentLayer> lstm;
  std::shared_ptr<const Transformer> transformer;
  StepBuilder step(weights_of(*params));
  if (o.transformer)
    transformer =
        std::make_shared<Transformer>(*params / "transformer", TransformerConfig{.dim = width,
                                                                                 .heads = 2,
                                                                                 .layers = 2,
                                                                                 .feed_forward = 12,
                                                                                 .memory = 5,
                                                                                 .last_norm = o.last_norm});
  else
    lstm = std::make_shared<RecurrentLayer>(*params / "lstm", CellKind::lstm,
                                            RecurrentConfig{.input = width, .hidden = width, .layers = 2});
  const DenseConfig config{.in = width, .out = vocab};
  const Dense decoder =
      o.tied ? Dense(*params / "decoder", config, embed.weight) : Dense(*params / "decoder", config);
  std::shared_ptr<const MixtureSoftmax> mixture;
  if (o.components)
    mixture = std::make_shared<MixtureSoftmax>(
        *params / "mixture", MixtureSoftmaxConfig{.in = width, .width = width, .components = o.components});
  params->initialize(Init::uniform(-0.5f, 0.5f));
  StepVector x = append(step, embed);
  x = transformer ? append(step, *transformer, x) : append(step, *lstm, x);
  step.output("y", mixture ? append(step, *mixture, decoder, x) : append(step, decoder, x));
  return {fmt::format("tokens, tied {}, transformer {}, last norm {}, components {}", o.tied, o.transformer,
                      o.last_norm, o.components),
          params,
          step.plan(),
          0,
          vocab,
          [=](const Tensor&, const IdTensor& tokens) {
            const Var e = embed(tokens);
            const Var y = transformer ? (*transformer)(e, transformer->zero_state(1)).y
                                      : (*lstm)(e, lstm->zero_state(1)).y;
            return (mixture ? mixture->log_probabilities(decoder, y) : decoder(y)).value();
          }};
}

inline std::vector<StepModel> step_models() {
  std::vector<StepModel> models;
  for (const CellFacts& cell : our_cells) {
    models.push_back(recurrent_model(cell.kind, {.input = 3, .hidden = 7, .layers = 1}));
    models.push_back(recurrent_model(cell.kind, {.input = 4, .hidden = 8, .layers = 3}));
    for (const RecurrentConfig& config : options_alone(cell, {.input = 3, .hidden = 4, .layers = 2}))
      if (!config.bidirectional) models.push_back(recurrent_model(cell.kind, config));
  }
  RandomStream random(7, "models");
  for (int k = 0; k < 12; ++k) {
    RecurrentConfig config = random_lstm_case(random, 9).config;
    config.bidirectional = false;
    models.push_back(recurrent_model(CellKind::lstm, config));
  }
  for (const TokenModelOptions& options :
       {TokenModelOptions{}, TokenModelOptions{.tied = true}, TokenModelOptions{.components = 3},
        TokenModelOptions{.tied = true, .components = 2}, TokenModelOptions{.transformer = true},
        TokenModelOptions{.tied = true, .transformer = true, .last_norm = false}})
    models.push_back(token_model(options));
  for (const Activation f : {Activation::none, Activation::relu, Activation::tanh, Activation::sigmoid})
    models.insert(models.begin(), dense_model(f));  // a Transformer stays the last one
  return models;
}

// How far a step may lie from the layers' values. Both round each sum and function, and weights below 1/2 do not let errors grow.
inline double tolerance(const Tensor& expected) { return 1e-6 * std::max(1.0, largest(expected)); }

// x [steps, 1, inputs], or tokens [steps, 1].
struct StepInputs {
  Tensor x;
  IdTensor tokens;
};
inline StepInputs step_inputs(const StepModel& model, int steps) {
  RandomStream random(5, model.name);
  if (model.vocab > 0) return {{}, random_ids({steps, 1}, random, static_cast<uint32_t>(model.vocab))};
  return {random_tensor({steps, 1, model.inputs}, random), {}};
}

// y [steps, 1, outputs], step by step.
inline Tensor by_steps(const StepModel& model, RealTimeStep& step, const StepInputs& inputs, int steps) {
  std::vector<real> result;
  const auto y = step["y"], x = model.vocab > 0 ? std::span<float>() : step["x"];
  for (int t = 0; t < steps; ++t) {
    if (model.vocab > 0)
      step(inputs.tokens.data()[t]);
    else
      std::ranges::copy(inputs.x[t].to_host(), x.begin()), step();
    result.insert(result.end(), y.begin(), y.end());
  }
  return Tensor::from({steps, 1, model.outputs()}, result);
}

}  // namespace unroll
