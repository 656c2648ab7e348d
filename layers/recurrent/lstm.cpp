#include "layers/recurrent/lstm.h"

#include <algorithm>
#include <span>

namespace unroll {

namespace {
void require_one_of(const char* option, Unary f, std::span<const Unary> known) {
  std::string names;
  for (const Unary g : known) names += (names.empty() ? "" : ", ") + std::string(name_of(g));
  require(std::ranges::find(known, f) != known.end(), "lstm: {} {} is none of {}", option, name_of(f), names);
}

}  // namespace

LstmChoice choose_lstm(const LstmConfig& c, const EngineFacts& facts, const WindowFacts& window) {
  const auto function = [](const char* name, Unary f, Unary usual) {
    return option<std::string_view>(name, name_of(f), name_of(usual));  // the same text may lie in two places
  };
  const auto unknown = options_set(
      {option("recurrent_dropout", c.recurrent_dropout), option("weight_drop", c.weight_drop),
       option("zoneout_h", c.zoneout_h), option("zoneout_c", c.zoneout_c), option("layer_norm", c.layer_norm),
       option("peepholes", c.peepholes), function("gate_activation", c.gate_activation, Unary::sigmoid),
       function("cell_activation", c.cell_activation, Unary::tanh)});
  return choose_engine(
      c.engine,
      {.name = "lstm",
       .input = c.input,
       .hidden = c.hidden,
       .layers = c.layers,
       .projection = c.projection,
       .algorithm = c.algorithm,
       .unknown = unknown,
       .between_layers = options_set({option("dropout", c.layers > 1 ? c.dropout : 0),
                                      option("residual", c.residual), option("last_hidden", c.last_hidden)})},
      facts, window);
}

static StackConfig stack_of_lstm(const LstmConfig& config) {
  StackConfig stack = stack_of("lstm", config);
  stack.width = config.width();
  stack.cells = config.hidden;
  stack.last = config.last_hidden;
  stack.zoneout_h = config.zoneout_h, stack.zoneout_c = config.zoneout_c;
  return stack;
}

Lstm::Lstm(Scope scope, const LstmConfig& config)
    : config_(config), choice_(choose_lstm(config)), stack_(scope, stack_of_lstm(config)) {
  require(config.projection >= 0 && config.projection < config.hidden,
          "lstm: projection {} must be less than hidden {}, or 0 for none", config.projection, config.hidden);
  require_one_of("gate_activation", config.gate_activation, gate_functions);
  require_one_of("cell_activation", config.cell_activation, cell_functions);
  require(!config.last_hidden || (config.last_hidden > 0 && config.last_hidden < config.hidden),
          "lstm: last_hidden {} must be less than hidden {}, or 0 for layers of one width",
          config.last_hidden, config.hidden);
  require(!config.last_hidden || !(config.projection || config.residual),
          "lstm: last_hidden gives the last layer another width, which {} cannot have",
          config.projection ? "projection" : "residual");
  for (int k = 0; k < stack_.count(); ++k) layers_.emplace_back(stack_.scope_of(k), config);
  if (choice_.engine != LstmEngine::cudnn) return;
  std::vector<CudnnWeights> weights;
  for (const Layer& l : layers_)
    weights.push_back({.all = l.weights(),
                       .weight_ih = l.weight_ih,
                       .weight_hh = l.weight_hh,
                       .bias = l.bias,
                       .weight_hr = l.weight_hr});
  cudnn_ = CudnnStack(scope, stack_, std::move(weights), config.algorithm);
}

Lstm::Layer::Layer(const LayerScope& scope, const LstmConfig& config)
    : gate(config.gate_activation), cell(config.cell_activation), weights_(scope.weights) {
  const int hidden = scope.hidden, gates = 4 * hidden;
  const auto constant = [&](const char* name, int size, float value) {
    return scope.add(name, {size}, Init::around(value, size)).var();
  };
  weight_ih = scope.add("weight_ih", {gates, scope.input}).var();
  weight_hh = scope.add("weight_hh", {gates, config.projection ? config.projection : hidden}).var();
  Parameter& sums = scope.add("bias", {gates});
  sums.init.offset = {config.forget_bias, hidden, 2 * hidden};
  bias = sums.var();
  if (config.projection) weight_hr = scope.add("weight_hr", {config.projection, hidden}).var();
  if (config.peepholes) peepholes = scope.add("peepholes", {3, hidden}).var();
  if (!config.layer_norm) return;
  norm_ih = constant("norm_ih", gates, 1);
  norm_hh = constant("norm_hh", gates, 1);
  norm_c = constant("norm_c", hidden, 1);
  norm_c_bias = constant("norm_c_bias", hidden, 0);
}

LstmState Lstm::zero_state(int batch) const {
  return {Tensor::zeros({stack_.count(), batch, config_.width()}),
          Tensor::zeros({stack_.count(), batch, config_.hidden})};
}

Lstm::Output Lstm::operator()(const Var& x, const LstmVars& state, const Lengths& lengths) const {
  stack_.require_input(x);
  const Shape of_h{stack_.count(), x.dim(1), config_.width()}, of_c = of_h.with(2, config_.hidden);
  require(has(state.h) && has(state.c), "lstm: the state has no {}; zero_state(batch) is the first one",
          has(state.h) ? "c" : "h");
  require(state.h.shape() == of_h && state.c.shape() == of_c,
          "lstm: state {} and {} must be {} and {} for x {}", state.h.shape(), state.c.shape(), of_h, of_c,
          x.shape());
  if (choice_.engine == LstmEngine::cudnn) {
    require_cudnn_serves(config_, x, lengths, choose_lstm);
    auto [y, h, c] = cudnn_(stack_, x, state, lengths);
    return {y, {h, c}};
  }
  const auto layer_of = choice_.engine == LstmEngine::composed ? lstm_layer_composed : lstm_layer_fused;
  Vars h, c;
  const Var y = stack_(x, lengths, [&](int k, const Var& in, const RecurrentMasks& masks) {
    const int narrow = stack_.cells_of(k) < config_.hidden ? stack_.cells_of(k) : 0;
    const auto state_of = [&](const Var& all) {
      return narrow ? slice(row(all, k), 1, 0, narrow) : row(all, k);
    };
    const auto full_row = [&](const Var& v) {
      return narrow ? concat({v, Var(Tensor::zeros({v.dim(0), config_.hidden - narrow}))}, 1) : v;
    };
    const auto out =
        layer_of(in, state_of(state.h), state_of(state.c), layers_[static_cast<size_t>(k)], masks);
    h.push_back(full_row(out.h));
    c.push_back(full_row(out.c));
    return out.y;
  });
  return {y, {stack(h), stack(c)}};
}

}  // namespace unroll
