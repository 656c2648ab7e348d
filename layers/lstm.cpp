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
  return result;
}

LstmChoice choose_lstm(const LstmConfig& config) {
  const std::string options = options_in_the_way(config);
  if (config.engine == LstmEngine::cudnn)
    throw InputError(fmt::format(
        "engine 'cudnn' cannot serve: it needs an NVIDIA GPU and this build of unroll runs on the CPU{}; 'fused' and "
        "'composed' can",
        options.empty() ? "" : ", and it does not know " + options));
  LstmChoice choice{.engine = config.engine, .reasons = {}};
  choice.reasons.push_back({"device", "cpu", "cudnn needs an NVIDIA GPU; fused and composed run here"});
  choice.reasons.push_back(options.empty()
                               ? LstmReason{"cell", "standard", "all engines compute it"}
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

// Weights uniform in ±1/√hidden, as PyTorch's nn.LSTM.
Lstm::Lstm(Scope scope, const LstmConfig& config)
    : config_(config),
      choice_(choose_lstm(config)),
      places_{scope / "dropout", scope / "recurrent_dropout", scope / "weight_drop", scope / "zoneout_h",
              scope / "zoneout_c"} {
  require(config.input > 0 && config.hidden > 0 && config.layers > 0,
          "lstm: input {}, hidden {} and layers {} must be positive", config.input, config.hidden, config.layers);
  require(config.hidden <= INT_MAX / 4, "lstm: hidden {} is too large for the rows of four gates", config.hidden);
  const auto require_rate = [](const char* name, float rate) {
    require(rate >= 0 && rate < 1, "lstm: {} {} is not in [0, 1)", name, rate);
  };
  require_rate("dropout", config.dropout);
  require_rate("recurrent_dropout", config.recurrent_dropout);
  require_rate("weight_drop", config.weight_drop);
  require_rate("zoneout_h", config.zoneout_h);
  require_rate("zoneout_c", config.zoneout_c);
  require(!config.locked_dropout || (config.dropout > 0 && config.layers > 1),
          "lstm: locked_dropout is about the dropout between layers, and there is none with dropout {} and layers {}",
          config.dropout, config.layers);
  const float bound = 1 / std::sqrt(static_cast<float>(config.hidden));
  const Init init = Init::uniform(-bound, bound);
  for (int k = 0; k < config.layers; ++k) {
    const int input = k == 0 ? config.input : config.hidden, gates = 4 * config.hidden;
    Parameter& weight_ih = scope.add(fmt::format("weight_ih_l{}", k), {gates, input}, init);
    Parameter& weight_hh = scope.add(fmt::format("weight_hh_l{}", k), {gates, config.hidden}, init);
    Parameter& bias = scope.add(fmt::format("bias_l{}", k), {gates}, init);
    bias.decay = false;
    bias.init.offset = {config.forget_bias, config.hidden, 2 * config.hidden};
    layers_.push_back({weight_ih.var(), weight_hh.var(), bias.var()});
  }
}

LstmState Lstm::zero_state(int batch) const {
  const Shape shape{config_.layers, batch, config_.hidden};
  return {Tensor::zeros(shape), Tensor::zeros(shape)};
}

// 1 where a row's step is real, 0 where it is padding: [steps, batch].
static Tensor real_steps(const Lengths& lengths, int steps, int batch) {
  if (!lengths.steps.defined()) return {};
  require(lengths.steps.shape() == Shape{batch}, "lstm: lengths {} must be [{}], one for each row of x",
          lengths.steps.shape(), batch);
  const Tensor result({steps, batch});
  for (int b = 0; b < batch; ++b) {
    const int length = lengths.steps.data()[b];
    require(length >= 0 && length <= steps, "lstm: length {} of row {} is not in 0 … {}, the steps of x", length, b,
            steps);
    const int first = lengths.padding == Padding::before ? steps - length : 0;
    for (int t = 0; t < steps; ++t) result[t].data()[b] = t >= first && t < first + length;
  }
  return result;
}

// The share of a step in the state, [steps, batch, hidden]: 0 where a unit keeps its value; undefined if all is new.
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
    result.h = dropout_mask({batch, config_.hidden}, config_.recurrent_dropout, places_.recurrent_dropout.next_key());
  if (on && config_.weight_drop > 0) result.weight_hh = {config_.weight_drop, places_.weight_drop.next_key()};
  const Shape states{steps, batch, config_.hidden};
  result.new_h = new_share(states, config_.zoneout_h, places_.zoneout_h, real_steps);
  result.new_c = new_share(states, config_.zoneout_c, places_.zoneout_c, real_steps);
  return result;
}

Lstm::Output Lstm::operator()(const Var& x, const LstmVars& state, const Lengths& lengths) const {
  require(x.shape().rank() == 3 && x.dim(2) == config_.input, "lstm: x {} must be [steps, batch, {}]", x.shape(),
          config_.input);
  const int steps = x.dim(0), batch = x.dim(1);
  const Shape expected{config_.layers, batch, config_.hidden};
  require(state.h.shape() == expected && state.c.shape() == expected, "lstm: state {} and {} must be {} for x {}",
          state.h.shape(), state.c.shape(), expected, x.shape());
  require(steps > 0, "lstm: x {} has no steps", x.shape());

  const auto layer_of = choice_.engine == LstmEngine::composed ? lstm_layer_composed : lstm_layer_fused;
  const Tensor is_real = real_steps(lengths, steps, batch);
  Var y = is_real.defined() ? mask_rows(x, is_real) : x;  // from here on padding is finite
  Vars h, c;
  for (int k = 0; k < config_.layers; ++k) {
    if (k > 0 && config_.dropout > 0)
      y = dropout(y, config_.dropout, places_.dropout.next_key(), config_.locked_dropout);
    auto out = layer_of(y, row(state.h, k), row(state.c, k), layers_[k], masks(steps, batch, is_real));
    y = out.y;
    h.push_back(out.h);
    c.push_back(out.c);
  }
  if (is_real.defined()) y = mask_rows(y, is_real);
  return {y, {stack(h), stack(c)}};
}

}  // namespace unroll::inline UNROLL_REAL
