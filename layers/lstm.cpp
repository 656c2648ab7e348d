#include "layers/lstm.h"

#include <array>
#include <climits>
#include <cmath>

#include "framework/kernels/kernels.h"
#include "framework/ops.h"

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

// What makes the cell another than cuDNN's.
static std::string options_in_the_way(const LstmConfig& config) {
  std::string result;
  const auto add = [&](bool there, const char* option) {
    if (there) result += (result.empty() ? "" : ", ") + std::string(option);
  };
  add(config.recurrent_dropout > 0, "recurrent_dropout");
  add(config.weight_drop > 0, "weight_drop");
  add(config.zoneout_h > 0, "zoneout_h");
  add(config.zoneout_c > 0, "zoneout_c");
  add(config.layer_norm, "layer_norm");
  add(config.peepholes, "peepholes");
  add(config.gate_activation != Unary::sigmoid, "gate_activation");
  add(config.cell_activation != Unary::tanh, "cell_activation");
  return result;
}

LstmChoice choose_lstm(const LstmConfig& config) {
  const std::string options = options_in_the_way(config);
  if (config.engine == LstmEngine::cudnn)
    throw InputError(
        fmt::format("engine 'cudnn' cannot serve: it needs an NVIDIA GPU and this build of unroll runs on "
                    "the CPU{}; 'fused' and "
                    "'composed' can",
                    options.empty() ? "" : ", and it does not know " + options));
  LstmChoice choice{.engine = config.engine, .reasons = {}};
  choice.reasons.push_back({"device", "cpu", "cudnn needs an NVIDIA GPU; fused and composed run here"});
  choice.reasons.push_back(
      options.empty() ? LstmReason{"cell", "standard", "all engines compute it"}
                      : LstmReason{"cell", options, "cudnn does not know it; fused and composed compute it"});
  if (config.engine == LstmEngine::automatic) {
    choice.engine = LstmEngine::fused;
    choice.reasons.push_back({"speed", "", "it is the fastest engine on a CPU"});
  } else {
    choice.reasons.push_back({"forced", std::string(name_of(config.engine)), "it was asked for"});
  }
  return choice;
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

static void require_sense(const LstmConfig& config) {
  require(config.input > 0 && config.hidden > 0 && config.layers > 0,
          "lstm: input {}, hidden {} and layers {} must be positive", config.input, config.hidden,
          config.layers);
  require(config.hidden <= INT_MAX / 4, "lstm: hidden {} is too large for the rows of four gates",
          config.hidden);
  const auto require_rate = [](const char* name, float rate) {
    require(rate >= 0 && rate < 1, "lstm: {} {} is not in [0, 1)", name, rate);
  };
  require_rate("dropout", config.dropout);
  require_rate("recurrent_dropout", config.recurrent_dropout);
  require_rate("weight_drop", config.weight_drop);
  require_rate("zoneout_h", config.zoneout_h);
  require_rate("zoneout_c", config.zoneout_c);
  require(!config.locked_dropout || (config.dropout > 0 && config.layers > 1),
          "lstm: locked_dropout is about the dropout between layers, and there is none with dropout {} and "
          "layers {}",
          config.dropout, config.layers);
  require(config.projection >= 0 && config.projection < config.hidden,
          "lstm: projection {} must be less than hidden {}, or 0 for none", config.projection, config.hidden);
  require(!config.residual || config.layers > 1,
          "lstm: residual is about the layers after the first, and there are none with layers {}",
          config.layers);
  require(config.gate_activation == Unary::sigmoid || config.gate_activation == Unary::hard_sigmoid,
          "lstm: gate_activation must be sigmoid or hard_sigmoid: gates lie between 0 and 1");
  const Unary cell = config.cell_activation;
  require(cell == Unary::tanh || cell == Unary::relu || cell == Unary::hard_tanh || cell == Unary::softsign,
          "lstm: cell_activation must be tanh, relu, hard_tanh or softsign");
}

// Weights uniform in ±1/√hidden, as PyTorch's nn.LSTM.
Lstm::Lstm(Scope scope, const LstmConfig& config)
    : config_(config),
      choice_(choose_lstm(config)),
      places_{scope / "dropout", scope / "recurrent_dropout", scope / "weight_drop", scope / "zoneout_h",
              scope / "zoneout_c"} {
  require_sense(config);
  const int hidden = config.hidden, gates = 4 * hidden;
  const float bound = 1 / std::sqrt(static_cast<float>(hidden));
  for (int k = 0; k < config.layers * config.directions(); ++k) {
    const int depth = k / config.directions();
    const std::string suffix = fmt::format("_l{}{}", depth, k % config.directions() ? "_reverse" : "");
    const auto weight = [&](const char* name, const Shape& shape) -> Parameter& {
      return scope.add(name + suffix, shape, Init::uniform(-bound, bound));
    };
    const auto vector = [&](const char* name, int size, float first) {  // `first` stays under initialize()
      Parameter& p = scope.add(name + suffix, {size}, Init{.offset = {first, 0, size}});
      p.decay = false;
      return p.var();
    };
    Layer layer{.weight_ih = weight("weight_ih", {gates, depth == 0 ? config.input : config.output()}).var(),
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
  const int count = static_cast<int>(layers_.size());
  return {Tensor::zeros({count, batch, config_.width()}), Tensor::zeros({count, batch, config_.hidden})};
}

// 1 where a row's step is real, 0 where it is padding: [steps, batch].
static Tensor real_steps(const Lengths& lengths, int steps, int batch) {
  if (!lengths.steps.defined()) return {};
  require(lengths.steps.shape() == Shape{batch}, "lstm: lengths {} must be [{}], one for each row of x",
          lengths.steps.shape(), batch);
  const Tensor result({steps, batch});
  for (int b = 0; b < batch; ++b) {
    const int length = lengths.steps.data()[b];
    require(length >= 0 && length <= steps, "lstm: length {} of row {} is not in 0 … {}, the steps of x",
            length, b, steps);
    const int first = lengths.padding == Padding::before ? steps - length : 0;
    for (int t = 0; t < steps; ++t) result[t].data()[b] = t >= first && t < first + length;
  }
  return result;
}

// The share of a step in the state, [steps, batch, hidden]: 0 where a unit keeps its value; undefined if all
// is new.
static Tensor new_share(const Shape& shape, float zoneout, const Scope& place, const Tensor& real_steps) {
  if (zoneout == 0 && !real_steps.defined()) return {};
  Tensor share;
  if (zoneout > 0 && dropout_is_on()) {
    share = dropout_mask(shape, zoneout, place.next_key());
    for (real& u : share.span()) u = u != 0;
  } else {
    share = Tensor::full(shape, 1 - real{zoneout});
  }
  if (real_steps.defined())
    kernels().keep_rows(share.data(), real_steps.data(), share.rows(), share.cols(), share.data(), false);
  return share;
}

RecurrentMasks Lstm::masks(int steps, int batch, const Tensor& real_steps) const {
  RecurrentMasks result;
  const bool on = dropout_is_on();
  if (on && config_.recurrent_dropout > 0)
    result.h = dropout_mask({batch, config_.width()}, config_.recurrent_dropout,
                            places_.recurrent_dropout.next_key());
  if (on && config_.weight_drop > 0) result.weight_hh = {config_.weight_drop, places_.weight_drop.next_key()};
  result.new_h = new_share({steps, batch, config_.width()}, config_.zoneout_h, places_.zoneout_h, real_steps);
  result.new_c = new_share({steps, batch, config_.hidden}, config_.zoneout_c, places_.zoneout_c, real_steps);
  return result;
}

Lstm::Output Lstm::operator()(const Var& x, const LstmVars& state, const Lengths& lengths) const {
  require(x.shape().rank() == 3 && x.dim(2) == config_.input, "lstm: x {} must be [steps, batch, {}]",
          x.shape(), config_.input);
  const int steps = x.dim(0), batch = x.dim(1);
  const int count = static_cast<int>(layers_.size()), directions = config_.directions();
  const Shape of_h{count, batch, config_.width()}, of_c{count, batch, config_.hidden};
  require(state.h.shape() == of_h && state.c.shape() == of_c,
          "lstm: state {} and {} must be {} and {} for x {}", state.h.shape(), state.c.shape(), of_h, of_c,
          x.shape());
  require(steps > 0, "lstm: x {} has no steps", x.shape());

  const auto layer_of = choice_.engine == LstmEngine::composed ? lstm_layer_composed : lstm_layer_fused;
  const Tensor is_real[] = {real_steps(lengths, steps, batch),
                            directions == 2 ? real_steps(lengths.backwards(), steps, batch) : Tensor()};
  Var y = is_real[0].defined() ? mask_rows(x, is_real[0]) : x;  // from here on padding is finite
  Vars h, c;
  for (int k = 0; k < count; k += directions) {
    const bool first = k == 0;
    const Var in =
        first ? y : dropout(y, config_.dropout, places_.dropout.next_key(), config_.locked_dropout);
    const auto layer = [&](int direction) {
      const int i = k + direction;
      const auto out = layer_of(direction ? flip(in) : in, row(state.h, i), row(state.c, i), layers_[i],
                                masks(steps, batch, is_real[direction]));
      h.push_back(out.h);
      c.push_back(out.c);
      return direction ? flip(out.y) : out.y;
    };
    const Var forwards = layer(0), out = directions == 2 ? concat({forwards, layer(1)}, 2) : forwards;
    y = config_.residual && !first ? out + y : out;
  }
  if (is_real[0].defined()) y = mask_rows(y, is_real[0]);
  return {y, {stack(h), stack(c)}};
}

}  // namespace unroll::inline UNROLL_REAL
