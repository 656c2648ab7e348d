#include "model.h"

#include <algorithm>
#include <cmath>

#include "data/windows.h"
#include "framework/signals.h"

namespace ptb {

namespace {

// What every recurrent layer has.
template <class Config>
Config layer_config(const Recipe& recipe) {
  const auto& m = recipe.model;
  const float between = dropout_rates(recipe).hidden;
  return {.input = m.embedding,
          .hidden = m.hidden,
          .layers = m.layers,
          .dropout = between,
          .locked_dropout = m.locked_dropout && m.layers > 1 && between > 0,
          .recurrent_dropout = m.recurrent_dropout,
          .weight_drop = m.weight_drop,
          .residual = m.residual,
          .engine = lstm_engine_named(m.engine),
          .algorithm = cudnn_algorithm_named(m.algorithm)};
}

LstmConfig lstm_config(const Recipe& recipe) {
  const auto& m = recipe.model;
  LstmConfig config = layer_config<LstmConfig>(recipe);
  config.zoneout_h = m.zoneout_h, config.zoneout_c = m.zoneout_c;
  config.projection = m.projection, config.last_hidden = m.last_hidden;
  config.layer_norm = m.layer_norm, config.peepholes = m.peepholes;
  config.gate_activation = m.gate_activation, config.cell_activation = m.cell_activation;
  config.forget_bias = m.forget_bias;
  return config;
}

GruConfig gru_config(const Recipe& recipe) {
  GruConfig config = layer_config<GruConfig>(recipe);
  config.zoneout = recipe.model.zoneout_h;
  return config;
}

DropoutConfig dropout_config(const Recipe& recipe, float rate) {
  return {.rate = rate, .locked = recipe.model.locked_dropout};
}

Dense make_decoder(const Scope& scope, const Recipe& recipe, int vocab, const Var& embedding) {
  const DenseConfig config{.in = recipe.model.output(), .out = vocab};
  return recipe.model.tied ? Dense(scope, config, embedding) : Dense(scope, config);
}

void choose_first_values(ParameterSet& params, const Recipe& recipe) {
  const Init within = Init::uniform(-recipe.model.init, recipe.model.init);
  if (recipe.model.init_scheme == InitScheme::uniform) return params.initialize(within);
  // Recurrent layers begin like those of PyTorch of themselves.
  for (const char* name : {"embedding.weight", "decoder.weight"})
    if (Parameter* weight = params.find(name)) weight->init = within;
  params.find("decoder.bias")->init = Init::constant(0);
}

}  // namespace

RecurrentLayer make_layers(ParameterSet& params, const Recipe& recipe) {
  if (recipe.model.cell == Cell::gru) return Gru(params / "gru", gru_config(recipe));
  return Lstm(params / "lstm", lstm_config(recipe));
}

std::vector<LayerUse> recurrent_layers(const Recipe& recipe) {
  LayerUse use{.config = lstm_config(recipe), .steps = recipe.data.bptt, .batch = recipe.data.batch};
  if (recipe.model.cell == Cell::gru) use.config = gru_config(recipe);
  return {use};
}

LanguageModel::LanguageModel(const Recipe& recipe, int vocab)
    : params(recipe.training.seed),
      embedding(params / "embedding",
                {.vocab = vocab, .dim = recipe.model.embedding, .dropout = recipe.model.embedding_dropout}),
      input_dropout(params / "input_dropout", dropout_config(recipe, dropout_rates(recipe).input)),
      recurrent(make_layers(params, recipe)),
      output_dropout(params / "output_dropout", dropout_config(recipe, dropout_rates(recipe).output)),
      decoder(make_decoder(params / "decoder", recipe, vocab, embedding.weight)) {
  choose_first_values(params, recipe);
}

LanguageModel::Output LanguageModel::operator()(const IdTensor& input, const IdTensor& target,
                                                const RecurrentVars& state) const {
  auto [y, next] = recurrent(input_dropout(embedding(input)), state);
  const Var dropped = output_dropout(y);
  return {softmax_cross_entropy(decoder, dropped, target), next, y, dropped};
}

double Score::perplexity() const { return std::exp(nats / static_cast<double>(tokens)); }

Score score(const LanguageModel& model, std::span<const int32_t> text, int32_t eos, int batch) {
  // Few calls with many steps: what is not recurrent runs over a whole window at once.
  constexpr int rows = 1000;
  batch = static_cast<int>(std::min<int64_t>(batch, std::ssize(text)));
  const NoTape guard;
  RecurrentState state = model.recurrent.zero_state(batch);
  Score result;
  BpttWindows windows = evaluation_windows(text, eos, {.batch = batch, .steps = std::max(1, rows / batch)});
  for (const auto& [input, target] : windows) {
    stop_if_signalled();
    const auto out = model(input, target, state);
    const int64_t scored = target.size() - std::ranges::count(target.span(), ignored_target);
    if (scored > 0) result.nats += static_cast<double>(out.loss.item()) * static_cast<double>(scored);
    result.tokens += scored;
    state = out.state;
  }
  return result;
}

}  // namespace ptb
