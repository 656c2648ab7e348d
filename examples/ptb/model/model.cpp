#include "examples/ptb/model/model.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "data/windows.h"
#include "framework/processes/processes.h"
#include "framework/signals.h"
#include "training/steps/shard_tree.h"

namespace ptb {

namespace {

DropoutConfig dropout_config(const Recipe& recipe, float rate) {
  return {.rate = rate, .locked = recipe.model.locked_dropout};
}

Dense make_decoder(const Scope& scope, const Recipe& recipe, int vocab, const Var& embedding) {
  const DenseConfig config{.in = decoder_width_of(recipe), .out = vocab};
  return recipe.model.tied ? Dense(scope, config, embedding) : Dense(scope, config);
}

void choose_first_values(ParameterSet& params, const Recipe& recipe) {
  const Init within = Init::uniform(-recipe.model.init, recipe.model.init);
  if (recipe.model.init_scheme == InitScheme::uniform) {
    params.initialize(within);
  } else {  // layers begin like PyTorch's by default
    for (const char* name : {"embedding.weight", "decoder.weight"})
      if (Parameter* weight = params.find(name)) weight->init = within;
    params.find("decoder.bias")->init = Init::constant(0);
  }
  if (recipe.model.architecture != Architecture::recurrent_attention) return;
  // The last weights of attention and feed-forward begin at zero (Zhang, Dauphin and Ma 2019, "Fixup initialization").
  // Their sums would otherwise drown the recurrent layers' small output. So training begins with the recurrent layers.
  for (int k = 0; k < transformer_of(recipe).layers; ++k)
    for (const char* last : {"self_attn.out_proj.weight", "linear2.weight"})
      params.find(fmt::format("transformer.layers.{}.{}", k, last))->init = Init::constant(0);
}

std::optional<RecurrentLayer> make_recurrent(ParameterSet& params, const Recipe& recipe) {
  if (!has_recurrent(recipe)) return std::nullopt;
  return make_layers(params, recipe);
}
std::optional<Transformer> make_transformer(ParameterSet& params, const Recipe& recipe) {
  if (!has_transformer(recipe)) return std::nullopt;
  return Transformer(params / "transformer", transformer_of(recipe));
}

}  // namespace

RecurrentLayer make_layers(ParameterSet& params, const Recipe& recipe) {
  return {params / cell_of(recipe).name, recipe.model.cell, layers_of(recipe)};
}

double attention_operations(const TransformerConfig& c) { return 4.0 * c.layers * c.dim * (c.memory + 1); }

double operations_of_step(const Recipe& recipe, const ParameterSet& params) {
  const int64_t looked_up = recipe.model.tied ? 0 : params.at("embedding.weight").size();
  const double attention = has_transformer(recipe) ? 3 * attention_operations(transformer_of(recipe)) : 0;
  // A mixture reads the decoder once a component, and once more for the components' shares.
  const double again = is_mixture(recipe) ? (8.0 * recipe.model.components - 6) *
                                                static_cast<double>(params.at("embedding.weight").size())
                                          : 0;
  // Telling a step back takes two products more of the decoder's size.
  const double told = recipe.training.past_decode > 0
                          ? 12.0 * recipe.training.past_decode_share * static_cast<double>(width_of(recipe)) *
                                static_cast<double>(params.at("decoder.bias").size())
                          : 0;
  return (6.0 * static_cast<double>(params.count() - looked_up) + attention + again + told) *
         recipe.data.batch * recipe.data.bptt * recipe.training.accumulate;
}

LanguageModel::LanguageModel(const Recipe& recipe, int vocab)
    : params(recipe.training.seed),
      embedding(params / "embedding",
                {.vocab = vocab, .dim = recipe.model.embedding, .dropout = recipe.model.embedding_dropout}),
      input_dropout(params / "input_dropout", dropout_config(recipe, dropout_rates(recipe).input)),
      recurrent(make_recurrent(params, recipe)),
      transformer(make_transformer(params, recipe)),
      output_dropout(params / "output_dropout", dropout_config(recipe, dropout_rates(recipe).output)),
      decoder(make_decoder(params / "decoder", recipe, vocab, embedding.weight)) {
  if (is_mixture(recipe))
    mixture.emplace(params / "mixture", MixtureSoftmaxConfig{.in = width_of(recipe),
                                                             .width = decoder_width_of(recipe),
                                                             .components = recipe.model.components,
                                                             .dropout = recipe.model.component_dropout});
  if (recipe.training.past_decode > 0)
    past_decoder.emplace(
        params / "past_decoder",
        PastDecoderConfig{
            .in = width_of(recipe), .classes = vocab, .share = recipe.training.past_decode_share});
  choose_first_values(params, recipe);
}

// --- the state -----------------------------------------------------------------------------------------

ModelState& ModelState::operator=(const ModelVars& next) {
  recurrent = next.recurrent, transformer = next.transformer;
  return *this;
}

ModelState::operator ModelVars() const {
  const auto of = [](const RecurrentState& s) { return s.h.defined() ? RecurrentVars(s) : RecurrentVars(); };
  return {of(recurrent), of(transformer)};
}

void ModelState::reset() { recurrent.reset(), transformer.reset(); }

ModelVars ModelState::rows(int begin, int end) const {
  const auto of = [&](const RecurrentState& s) {
    return s.h.defined() ? s.rows(begin, end) : RecurrentVars();
  };
  return {of(recurrent), of(transformer)};
}

void ModelState::set_rows(int begin, const ModelVars& rows) {
  if (recurrent.h.defined()) recurrent.set_rows(begin, rows.recurrent);
  if (transformer.h.defined()) transformer.set_rows(begin, rows.transformer);
}

ModelState LanguageModel::zero_state(int batch) const {
  ModelState state;
  if (recurrent) state.recurrent = recurrent->zero_state(batch);
  if (transformer) state.transformer = transformer->zero_state(batch);
  return state;
}

// --- the model -----------------------------------------------------------------------------------------

LanguageModel::Read LanguageModel::read(const IdTensor& input, const ModelVars& state,
                                        const IdTensor& resets) const {
  Var y = embedding(input);
  // Rows of an embedding that the decoder shares are short beside a transformer's sums (Vaswani et al. 2017).
  if (!recurrent) y *= std::sqrt(static_cast<real>(embedding.config.dim));
  y = input_dropout(y);
  ModelVars next;
  if (recurrent) {
    const RecurrentOutput out = (*recurrent)(y, state.recurrent, {}, resets);
    y = out.y, next.recurrent = out.state;
  }
  if (transformer) {
    const RecurrentOutput out = (*transformer)(y, state.transformer, resets);
    y = out.y, next.transformer = out.state;
  }
  return {y, next};
}

LanguageModel::Output LanguageModel::operator()(const IdTensor& input, const IdTensor& target,
                                                const ModelVars& state, const IdTensor& resets) const {
  const auto [y, next] = read(input, state, resets);
  return {loss(output_dropout(y), target), next};
}

int LanguageModel::width() const { return mixture ? mixture->config.in : decoder.config.in; }

Var LanguageModel::logits(const Var& y) const {
  return mixture ? mixture->log_probabilities(decoder, y) : decoder(y);
}

Var LanguageModel::loss(const Var& y, const IdTensor& target, const CrossEntropyOptions& options) const {
  return mixture ? mixture->loss(decoder, y, target) : softmax_cross_entropy(decoder, y, target, options);
}

Tensor LanguageModel::losses(const Tensor& y, const IdTensor& target,
                             std::span<const double> temperatures) const {
  return mixture ? mixture->losses(decoder, y, target, temperatures)
                 : softmax_cross_entropies(decoder, y, target, temperatures);
}

std::string LanguageModel::engine() const {
  return std::string(recurrent ? name_of(recurrent->choice().engine) : "none");
}

std::string LanguageModel::engine_text() const {
  return recurrent ? recurrent->choice().text : "none: no recurrent layers";
}

// --- scores --------------------------------------------------------------------------------------------

double Score::perplexity() const { return std::exp(nats / static_cast<double>(tokens)); }

ScoredText ScoredText::first(int64_t count) const {
  ScoredText result = *this;
  result.tokens = tokens.first(static_cast<size_t>(std::min(count, std::ssize(tokens))));
  result.documents = {documents.begin(), std::ranges::lower_bound(documents, count)};
  return result;
}

ScoredText ScoredText::in_fitting_streams() const {
  ScoredText result = *this;
  result.batch = evaluation_streams(std::ssize(tokens), documents, batch);
  return result;
}

void read_windows(const LanguageModel& model, const ScoredText& text, const Shard& shard,
                  const ReadWindow& f) {
  // Few calls with many steps: what is not recurrent runs over a whole window at once.
  constexpr int rows = 1000;
  const int begin = shard.begin(text.batch), end = shard.end(text.batch);
  if (begin == end) return;
  const NoTape guard;
  ModelState state = model.zero_state(end - begin);
  BpttWindows windows = evaluation_windows(
      text.tokens, text.eos,
      {.batch = text.batch, .steps = std::max(1, rows / (end - begin)), .documents = text.documents});
  for (int64_t k = 0; k < windows.count(); ++k) {
    stop_if_signalled();
    stop_if_another_failed();
    const auto [input, target] = windows.at(k, begin, end);
    const auto [y, next] = model.read(input, state, windows.resets());
    f(input, target, y, windows.resets());
    state = next;
  }
}

static ScoreSum score_shard(const LanguageModel& model, const ScoredText& text, const Shard& shard) {
  ScoreSum result;
  read_windows(
      model, text, shard, [&](const IdTensor&, const IdTensor& target, const Var& y, const IdTensor&) {
        const int64_t scored = target.size() - std::ranges::count(target.span(), ignored_target);
        if (scored > 0)
          result.total += static_cast<double>(model.loss(y, target).item()) * static_cast<double>(scored);
        result.count += scored;
      });
  return result;
}

SharedScore score_in_shards(const LanguageModel& model, const ScoredText& text) {
  return {.parts = text.shards,
          .sum =
              [&model, text = text.in_fitting_streams()](int64_t part) {
                return score_shard(model, text, {static_cast<int>(part), text.shards});
              },
          .score =
              [](const ScoreSum& sum) {
                return Score{sum.total, sum.count}.perplexity();
              }};
}

Score score(const LanguageModel& model, const ScoredText& text) {
  const ScoreSum sum = sum_of_parts(score_in_shards(model, text));
  return {sum.total, sum.count};
}

}  // namespace ptb
