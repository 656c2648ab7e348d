#include "examples/ptb/model/recipe.h"

#include "framework/check.h"
#include "framework/device.h"
#include "training/program/recipe/recipe_form.h"

namespace ptb {

namespace {

bool drops(const Recipe& r) {
  const auto [input, hidden, output] = dropout_rates(r);
  return input != 0 || hidden != 0 || output != 0;
}

// Rules between keys.
void check(const RecipeReader& reader, const Recipe& r) {
  const auto& m = r.model;
  if (has_recurrent(r)) check_recurrent_keys(reader, m.cell, layers_of(r));
  if (has_transformer(r) && width_of(r) % m.heads != 0)
    reader.refuse("model.heads", fmt::format("({}) must divide {} ({})", m.heads,
                                             has_recurrent(r) ? "the width of the recurrent layers' output"
                                                              : "model.embedding",
                                             width_of(r)));
  if (has_recurrent(r) && m.tied && !is_mixture(r) && m.output() != m.embedding)
    reader.refuse("model.tied", fmt::format("needs model.{} ({}) to equal model.embedding ({})",
                                            m.last_hidden  ? "last_hidden"
                                            : m.projection ? "projection"
                                                           : "hidden",
                                            m.output(), m.embedding));
  for (const auto& [name, rate] : {std::pair{"input_dropout", r.model.input_dropout},
                                   {"hidden_dropout", r.model.hidden_dropout},
                                   {"output_dropout", r.model.output_dropout}})
    if (rate < 0 && rate != -1)
      reader.refuse(fmt::format("model.{}", name), "must be in [0, 1), or -1 for model.dropout");
  if (r.model.locked_dropout && !drops(r))
    reader.refuse("model.locked_dropout", "needs model.dropout above 0");
  if (r.data.corpus == CorpusKind::grammar && r.data.level == Level::character)
    reader.refuse("data.level",
                  "must be \"word\" for the built-in grammar, whose probabilities are those of words");
  if (r.data.reset == Reset::document && r.data.corpus == CorpusKind::grammar)
    reader.refuse("data.reset",
                  "must be \"none\" for the built-in grammar, whose sentences are no documents");
  if (r.data.reset == Reset::document && r.training.graph == Graphs::always)
    reader.refuse(
        "training.graph",
        "must be false with data.reset = \"document\": a graph repeats one window's operations, and "
        "documents begin elsewhere in each");
  if (is_mixture(r) && r.training.graph == Graphs::always)
    reader.refuse("training.graph",
                  "must be false with model.softmax = \"mixture\": the host writes each window's targets once "
                  "for each component, which a graph does not repeat");
  for (const auto& [name, set] : {std::pair{"training.past_decode", r.training.past_decode > 0},
                                  {"training.adversarial_softmax", r.training.adversarial_softmax > 0}})
    if (set && is_mixture(r)) reader.refuse(name, "needs model.softmax = \"single\"");
  check_training_keys(reader, r.sections());
}

UnreadKeys unread_keys(const Recipe& r) {
  UnreadKeys unread = unread_training_keys(r.sections());
  unread.add_unless(r.data.corpus == CorpusKind::grammar, "data.corpus = \"grammar\"",
                    {"data.train_tokens", "data.valid_tokens", "data.test_tokens", "data.seed"});
  unread.add_unless(r.training.sample_every_epochs > 0, "training.sample_every_epochs above 0",
                    {"training.sample_words"});
  unread.add_unless(r.training.past_decode > 0, "training.past_decode above 0", {"training.past_decode_share"});
  unread.add_unless(is_mixture(r), "model.softmax = \"mixture\"",
                    {"model.components", "model.component_dropout"});
  const auto& m = r.model;
  const bool transformer = has_transformer(r), recurrent = has_recurrent(r);
  const char* const of_recurrent = "model.architecture = \"recurrent\" or \"recurrent-attention\"";
  add_unread_recurrent_keys(unread, m, recurrent, of_recurrent);
  if (transformer)  // which has it too
    std::erase_if(unread.keys, [](const UnreadKey& key) { return key.path == "model.locked_dropout"; });
  if (recurrent) add_lost_recurrent_keys(unread, m.cell, layers_of(r));
  if (m.locked_dropout && !drops(r)) unread.add_lost("model.locked_dropout");
  unread.add_unless(recurrent, of_recurrent, {"model.hidden", "model.cell"});
  unread.add_unless(transformer, "model.architecture = \"transformer\" or \"recurrent-attention\"",
                    {"model.heads", "model.feed_forward", "model.memory", "model.attention_dropout"});
  unread.add_unless(transformer && recurrent, "model.architecture = \"recurrent-attention\"",
                    {"model.attention_layers"});
  const bool has_hidden = transformer || m.layers > 1,
             as_dropout = m.hidden_dropout == -1;  // which asks for nothing
  unread.add_unless(has_hidden || as_dropout, "model.layers above 1", {"model.hidden_dropout"});
  unread.add_unless(m.input_dropout == -1 || m.output_dropout == -1 || (has_hidden && as_dropout),
                    "model.input_dropout, model.hidden_dropout or model.output_dropout = -1",
                    {"model.dropout"});
  return unread;
}

}  // namespace

bool plays_graphs(const Recipe& r, bool profiled) {
  if (r.training.graph != Graphs::automatic) return r.training.graph == Graphs::always;
  return on_gpu() && !profiled && r.training.shards == 1 && !r.data.variable_bptt &&
         r.data.reset == Reset::none && !is_mixture(r);
}

DropoutRates dropout_rates(const Recipe& recipe) {
  const auto& m = recipe.model;
  const auto rate = [&](float own) { return own == -1 ? m.dropout : own; };
  return {rate(m.input_dropout), rate(m.hidden_dropout), rate(m.output_dropout)};
}

RecurrentConfig layers_of(const Recipe& recipe) {
  RecurrentConfig layers = recipe.model;
  layers.input = recipe.model.embedding;
  layers.dropout = layers.layers > 1 ? dropout_rates(recipe).hidden : 0;
  layers.resets = recipe.data.reset == Reset::document;
  layers.locked_dropout &= layers.dropout > 0;  // else it concerns other places alone
  return layers;
}

int width_of(const Recipe& recipe) {
  return has_recurrent(recipe) ? recipe.model.output() : recipe.model.embedding;
}

TransformerConfig transformer_of(const Recipe& recipe) {
  const auto& m = recipe.model;
  return {.dim = width_of(recipe),
          .heads = m.heads,
          .layers = has_recurrent(recipe) ? m.attention_layers : m.layers,
          .feed_forward = m.feed_forward,
          .memory = m.memory,
          .dropout = dropout_rates(recipe).hidden,
          .attention_dropout = m.attention_dropout,
          .locked_dropout = m.locked_dropout,
          .last_norm = !has_recurrent(recipe)};
}

std::string title_of(const Recipe& recipe) {
  if (!has_recurrent(recipe)) return "Transformer";
  return std::string(cell_of(recipe).title) + (has_transformer(recipe) ? " with attention" : "");
}

std::string describe_layers(const Recipe& recipe) {
  std::string text;
  if (has_recurrent(recipe)) text = unroll::describe_layers(cell_of(recipe), layers_of(recipe));
  if (has_transformer(recipe)) {
    if (!text.empty()) text += ", then ";
    text += describe_transformer(transformer_of(recipe));
  }
  if (is_mixture(recipe)) text += fmt::format(", a mixture of {} softmaxes", recipe.model.components);
  return text;
}

static constexpr RecipeForm<Recipe> form{declare_keys, check, unread_keys};

Recipe load_recipe(const RecipeFile& file, const std::vector<Override>& overrides) {
  return form.load(file, overrides);
}

Recipe load_recipe(std::string_view name_or_path, const std::vector<Override>& overrides) {
  return form.load(find_recipe(name_or_path, "ptb"), overrides);
}

std::string resolved(const Recipe& recipe) { return form.resolved(recipe); }

std::vector<DifferingKey> differing_keys(const Recipe& before, const Recipe& after) {
  return form.differing_keys(before, after);
}

}  // namespace ptb
