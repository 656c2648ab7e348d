#include "layers/lstm.h"

#include <array>
#include <climits>
#include <cmath>

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

LstmChoice choose_lstm(const LstmConfig& config) {
  if (config.engine == LstmEngine::cudnn)
    throw InputError("engine 'cudnn' cannot serve: it needs an NVIDIA GPU and this build of unroll runs on the CPU; "
                     "'fused' and 'composed' can");
  LstmChoice choice{.engine = config.engine, .reasons = {}};
  choice.reasons.push_back({"device", "cpu", "cudnn needs an NVIDIA GPU; fused and composed run here"});
  choice.reasons.push_back({"cell", "standard", "all engines compute it"});
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
    : config_(config), choice_(choose_lstm(config)), scope_(scope / "dropout") {
  require(config.input > 0 && config.hidden > 0 && config.layers > 0,
          "lstm: input {}, hidden {} and layers {} must be positive", config.input, config.hidden, config.layers);
  require(config.hidden <= INT_MAX / 4, "lstm: hidden {} is too large for the rows of four gates", config.hidden);
  require(config.dropout >= 0 && config.dropout < 1, "lstm: dropout {} is not in [0, 1)", config.dropout);
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

Lstm::Output Lstm::operator()(const Var& x, const LstmVars& state) const {
  require(x.shape().rank() == 3 && x.dim(2) == config_.input, "lstm: x {} must be [steps, batch, {}]", x.shape(),
          config_.input);
  const Shape expected{config_.layers, x.dim(1), config_.hidden};
  require(state.h.shape() == expected && state.c.shape() == expected, "lstm: state {} and {} must be {} for x {}",
          state.h.shape(), state.c.shape(), expected, x.shape());
  require(x.dim(0) > 0, "lstm: x {} has no steps", x.shape());

  const auto layer_of = choice_.engine == LstmEngine::composed ? lstm_layer_composed : lstm_layer_fused;
  Var y = x;
  Vars h, c;
  for (int k = 0; k < config_.layers; ++k) {
    if (k > 0 && config_.dropout > 0) y = dropout(y, config_.dropout, scope_.next_key());
    auto out = layer_of(y, row(state.h, k), row(state.c, k), layers_[k]);
    y = out.y;
    h.push_back(out.h);
    c.push_back(out.c);
  }
  return {y, {stack(h), stack(c)}};
}

}  // namespace unroll::inline UNROLL_REAL
