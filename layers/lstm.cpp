#include "layers/lstm.h"

#include <array>
#include <cmath>

namespace unroll::inline UNROLL_REAL {

namespace {
constexpr std::array<std::string_view, 4> engine_names = {"auto", "cudnn", "fused", "composed"};
}

std::string_view name_of(LstmEngine engine) { return engine_names[static_cast<size_t>(engine)]; }

LstmEngine lstm_engine_named(std::string_view name) {
  for (size_t i = 0; i < engine_names.size(); ++i)
    if (engine_names[i] == name) return static_cast<LstmEngine>(i);
  throw InputError(fmt::format("engine '{}' is none of auto, cudnn, fused, composed", name));
}

std::string LstmChoice::text() const {
  std::string result(name_of(engine));
  if (!reasons.empty()) result += fmt::format(", because {}", reasons.back().verdict);
  return result;
}

LstmChoice choose_engine(LstmEngine engine, const std::string& options) {
  if (engine == LstmEngine::cudnn)
    throw InputError(fmt::format(
        "engine 'cudnn' cannot serve: it needs an NVIDIA GPU and this build of unroll runs on the CPU{}; 'fused' and "
        "'composed' can",
        options.empty() ? "" : ", and it does not know " + options));
  LstmChoice choice{.engine = engine, .reasons = {}};
  choice.reasons.push_back({"device", "cpu", "cudnn needs an NVIDIA GPU; fused and composed run here"});
  choice.reasons.push_back(
      options.empty() ? LstmReason{"cell", "standard", "all engines compute it"}
                      : LstmReason{"cell", options, "cudnn does not know it; fused and composed compute it"});
  if (engine == LstmEngine::automatic) {
    choice.engine = LstmEngine::fused;
    choice.reasons.push_back({"speed", "", "it is the fastest engine on a CPU"});
  } else {
    choice.reasons.push_back({"forced", std::string(name_of(engine)), "it was asked for"});
  }
  return choice;
}

LstmChoice choose_lstm(const LstmConfig& config) {
  return choose_engine(config.engine, named({{"recurrent_dropout", config.recurrent_dropout > 0},
                                             {"weight_drop", config.weight_drop > 0},
                                             {"zoneout_h", config.zoneout_h > 0},
                                             {"zoneout_c", config.zoneout_c > 0},
                                             {"layer_norm", config.layer_norm},
                                             {"peepholes", config.peepholes},
                                             {"gate_activation", config.gate_activation != Unary::sigmoid},
                                             {"cell_activation", config.cell_activation != Unary::tanh}}));
}

LstmState& LstmState::operator=(const LstmVars& next) {
  h.copy_from(next.h.value());
  c.copy_from(next.c.value());
  return *this;
}
void LstmState::reset() {
  h.fill(0);
  c.fill(0);
}

// Weights uniform in ±1/√hidden, as PyTorch's nn.LSTM.
Lstm::Lstm(Scope scope, const LstmConfig& config)
    : config_(config),
      choice_(choose_lstm(config)),
      stack_(scope, {.name = "lstm",
                     .input = config.input,
                     .hidden = config.hidden,
                     .layers = config.layers,
                     .directions = config.directions(),
                     .width = config.width(),
                     .cells = config.hidden,
                     .dropout = config.dropout,
                     .locked_dropout = config.locked_dropout,
                     .residual = config.residual,
                     .recurrent_dropout = config.recurrent_dropout,
                     .weight_drop = config.weight_drop,
                     .zoneout_h = config.zoneout_h,
                     .zoneout_c = config.zoneout_c}) {
  require(config.projection >= 0 && config.projection < config.hidden,
          "lstm: projection {} must be less than hidden {}, or 0 for none", config.projection, config.hidden);
  require(config.gate_activation == Unary::sigmoid || config.gate_activation == Unary::hard_sigmoid,
          "lstm: gate_activation must be sigmoid or hard_sigmoid: gates lie between 0 and 1");
  const Unary cell = config.cell_activation;
  require(cell == Unary::tanh || cell == Unary::relu || cell == Unary::hard_tanh || cell == Unary::softsign,
          "lstm: cell_activation must be tanh, relu, hard_tanh or softsign");
  const int hidden = config.hidden, gates = 4 * hidden;
  const float bound = 1 / std::sqrt(static_cast<float>(hidden));
  for (int k = 0; k < stack_.count(); ++k) {
    const std::string suffix = RecurrentStack::suffix(k, config.directions());
    const auto weight = [&](const char* name, const Shape& shape) -> Parameter& {
      return scope.add(name + suffix, shape, Init::uniform(-bound, bound));
    };
    const auto vector = [&](const char* name, int size, float first) {  // `first` stays under initialize()
      Parameter& p = scope.add(name + suffix, {size}, Init{.offset = {first, 0, size}});
      p.decay = false;
      return p.var();
    };
    Layer layer{.weight_ih = weight("weight_ih", {gates, stack_.input_of(k)}).var(),
                .weight_hh = weight("weight_hh", {gates, config.width()}).var(),
                .gate = config.gate_activation,
                .cell = config.cell_activation};
    Parameter& bias = weight("bias", {gates});
    bias.decay = false;
    bias.init.offset = {config.forget_bias, hidden, 2 * hidden};
    layer.bias = bias.var();
    if (config.projection) layer.weight_hr = weight("weight_hr", {config.projection, hidden}).var();
    if (config.peepholes) layer.peepholes = weight("peepholes", {3, hidden}).var();
    if (config.layer_norm) {
      layer.norm_ih = vector("norm_ih", gates, 1);
      layer.norm_hh = vector("norm_hh", gates, 1);
      layer.norm_c = vector("norm_c", hidden, 1);
      layer.norm_c_bias = vector("norm_c_bias", hidden, 0);
    }
    layers_.push_back(layer);
  }
}

LstmState Lstm::zero_state(int batch) const {
  return {Tensor::zeros({stack_.count(), batch, config_.width()}),
          Tensor::zeros({stack_.count(), batch, config_.hidden})};
}

Lstm::Output Lstm::operator()(const Var& x, const LstmVars& state, const Lengths& lengths) const {
  const auto layer_of = choice_.engine == LstmEngine::composed ? lstm_layer_composed : lstm_layer_fused;
  Vars h, c;
  const Var y = stack_(x, lengths, [&](int k, const Var& in, const RecurrentMasks& masks) {
    const Shape of_h{stack_.count(), x.dim(1), config_.width()}, of_c = of_h.with(2, config_.hidden);
    require(state.h.shape() == of_h && state.c.shape() == of_c,
            "lstm: state {} and {} must be {} and {} for x {}", state.h.shape(), state.c.shape(), of_h, of_c,
            x.shape());
    const auto out = layer_of(in, row(state.h, k), row(state.c, k), layers_[static_cast<size_t>(k)], masks);
    h.push_back(out.h);
    c.push_back(out.c);
    return out.y;
  });
  return {y, {stack(h), stack(c)}};
}

}  // namespace unroll::inline UNROLL_REAL
