#include "export/step_of.h"

namespace unroll {

StepWeights weights_of(const ParameterSet& params) {
  return [&params](const StepWeight& weight) {
    Parameter& found = params.at(weight.name);
    Shape read;
    for (const int extent : weight.shape) read.append(extent);
    require(found.shape == read, "step: {} is {} in the model, and is read as {}", weight.name, found.shape,
            read);
    const std::vector<real> values = found.leaf_value().to_host();
    return std::vector<float>(values.begin(), values.end());
  };
}

static std::string name_of(const Var& weight) {
  require(weight.leaf() != nullptr, "step: a layer's weight {} is no parameter", weight.shape());
  return weight.leaf()->leaf_name();
}

StepVector append(StepBuilder& step, const Embedding& layer) {
  return step.embedding(name_of(layer.weight), layer.config.vocab, layer.config.dim);
}

StepVector append(StepBuilder& step, const Dense& layer, const StepVector& x) {
  const StepVector y =
      step.dense(name_of(layer.weight), layer.config.bias ? name_of(layer.bias) : "", layer.config.out, x);
  switch (layer.config.activation) {
    case Activation::none:
      break;
    case Activation::relu:
      step.call("relu", y);
      break;
    case Activation::tanh:
      step.call("tanh", y);
      break;
    case Activation::sigmoid:
      step.call("sigmoid", y);
      break;
  }
  return y;
}

StepVector append(StepBuilder& step, const LayerNorm& layer, const StepVector& x) {
  const std::string weight = name_of(layer.weight);
  return step.layer_norm(weight.substr(0, weight.rfind('.')), x, layer.config.eps);
}

StepVector append(StepBuilder& step, const RecurrentLayer& layer, const StepVector& x) {
  const std::string weight = name_of(layer.weights(0).front());  // "lstm.weight_ih_l0"
  return step.recurrent(weight.substr(0, weight.rfind('.')), layer.cell().kind, layer.config(), x);
}

StepVector append(StepBuilder& step, const Transformer& layer, const StepVector& x) {
  const std::string weight = name_of(layer.layers()[0].norm1.weight);  // "transformer.layers.0.norm1.weight"
  return transformer(step, weight.substr(0, weight.rfind(".layers.0.")), layer.config(), x);
}

StepVector append(StepBuilder& step, const MixtureSoftmax& layer, const Dense& decoder, const StepVector& x) {
  const auto& [in, width, components, dropout] = layer.config;
  const StepVector shares = append(step, layer.prior, x), latent = append(step, layer.latent, x);
  const int vocab = decoder.config.out;
  const StepVector p = step.result("mixture", vocab);
  step.call("softmax", shares);
  step.call("zero", p);
  step.loop(components);
  const StepVector logits = append(step, decoder, step.turned(latent.part(0, width), width));
  step.call("softmax", logits);
  step.call("add_share", p, {step.turned(shares.part(0, 1), 1), logits});
  step.end_loop();
  step.call("log", p);
  return p;
}

}  // namespace unroll
