#include "layers/recurrent/gru.h"

namespace unroll {

LstmChoice choose_gru(const GruConfig& c, const EngineFacts& facts, const WindowFacts& window) {
  return choose_engine(
      c.engine,
      {.name = "gru",
       .input = c.input,
       .hidden = c.hidden,
       .layers = c.layers,
       .two_biases = true,
       .algorithm = c.algorithm,
       .unknown = options_set({option("recurrent_dropout", c.recurrent_dropout),
                               option("weight_drop", c.weight_drop), option("zoneout", c.zoneout)}),
       .between_layers =
           options_set({option("dropout", c.layers > 1 ? c.dropout : 0), option("residual", c.residual)})},
      facts, window);
}

static StackConfig stack_of_gru(const GruConfig& config) {
  StackConfig stack = stack_of("gru", config);
  stack.zoneout_h = config.zoneout, stack.zoneout = "zoneout";
  return stack;
}

Gru::Gru(Scope scope, const GruConfig& c)
    : config_(c), choice_(choose_gru(c)), stack_(scope, stack_of_gru(c)) {
  for (int k = 0; k < stack_.count(); ++k) layers_.emplace_back(stack_.scope_of(k));
  if (choice_.engine != LstmEngine::cudnn) return;
  std::vector<CudnnWeights> weights;
  for (const Layer& l : layers_)
    weights.push_back({.all = l.weights(),
                       .weight_ih = l.weight_ih,
                       .weight_hh = l.weight_hh,
                       .bias = l.bias,
                       .bias_hn = l.bias_hn});
  cudnn_ = CudnnStack(scope, stack_, std::move(weights), c.algorithm);
}

Gru::Layer::Layer(const LayerScope& scope)
    : weight_ih(scope.add("weight_ih", {3 * scope.hidden, scope.input}).var()),
      weight_hh(scope.add("weight_hh", {3 * scope.hidden, scope.hidden}).var()),
      bias(scope.add("bias", {3 * scope.hidden}).var()),
      bias_hn(scope.add("bias_hn", {scope.hidden}).var()),
      weights_(scope.weights) {}

GruState Gru::zero_state(int batch) const {
  return {Tensor::zeros({stack_.count(), batch, config_.hidden}), {}};
}

Gru::Output Gru::operator()(const Var& x, const Var& h, const Lengths& lengths) const {
  stack_.require_input(x);
  const Shape expected{stack_.count(), x.dim(1), config_.hidden};
  require(has(h), "gru: the state has no h; zero_state(batch) is the first one");
  require(h.shape() == expected, "gru: state {} must be {} for x {}", h.shape(), expected, x.shape());
  if (choice_.engine == LstmEngine::cudnn) {
    require_cudnn_serves(config_, x, lengths, choose_gru);
    auto [y, last, none] = cudnn_(stack_, x, {h, Var()}, lengths);
    return {y, last};
  }
  const auto layer_of = choice_.engine == LstmEngine::composed ? gru_layer_composed : gru_layer_fused;
  Vars last;
  const Var y = stack_(x, lengths, [&](int k, const Var& in, const RecurrentMasks& masks) {
    const auto out = layer_of(in, row(h, k), layers_[static_cast<size_t>(k)], masks);
    last.push_back(out.h);
    return out.y;
  });
  return {y, stack(last)};
}

}  // namespace unroll
