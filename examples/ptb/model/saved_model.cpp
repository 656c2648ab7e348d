#include "examples/ptb/model/saved_model.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "framework/one_line.h"
#include "training/checkpoint.h"
#include "training/files/state_dict.h"
#include "training/files/vocabulary_file.h"
#include "training/program/run/first_weights.h"
#include "training/program/run/model_file.h"

namespace ptb {

// The PyTorch modules that the weights fit, or "none: …" with the options that PyTorch lacks.
static std::string torch_modules(const Recipe& recipe, int vocab) {
  if (has_transformer(recipe))
    return "none: nn.TransformerEncoder with norms first has these weights, but neither its memory nor its biases of "
           "distances (docs/transformer.md)";
  const RecurrentConfig layers = layers_of(recipe);
  const std::string module = torch_module(cell_of(recipe), layers);
  if (module.starts_with("none")) return module;
  const int out = layers.output(), components = recipe.model.components;
  const std::string told_back =  // takes part in training alone
      recipe.training.past_decode > 0
          ? fmt::format("past_decoder.hidden = nn.Linear({0}, {0}); past_decoder.bias = nn.Parameter(torch.empty({1})); ",
                        decoder_width_of(recipe), vocab)
          : "";
  return fmt::format("embedding = nn.Embedding({}, {}); {} = {}; {}{}decoder = nn.Linear({}, {})", vocab,
                     layers.input, cell_of(recipe).name, module,
                     is_mixture(recipe) ? fmt::format("mixture.prior = nn.Linear({0}, {1}, bias=False); "
                                                      "mixture.latent = nn.Linear({0}, {2}); ",
                                                      out, components, components * decoder_width_of(recipe))
                                        : "",
                     told_back, decoder_width_of(recipe), vocab);
}

Metadata model_metadata(const Recipe& recipe, const Vocabulary& vocabulary) {
  return {{"program", "unroll ptb"},
          {"recipe_name", recipe.name},
          {"recipe", resolved(recipe)},
          {"pytorch", torch_modules(recipe, vocabulary.size())},
          {"vocabulary", vocabulary_metadata(vocabulary)}};
}

std::vector<NamedTensor> tied_weights(const LanguageModel& model) {
  if (model.params.find("decoder.weight")) return {};
  return {{"decoder.weight", model.decoder.weight.value()}};
}

void check_tied(const SafetensorsFile& file, const Recipe& recipe) {
  const std::string ours = "embedding.weight", repeated = "decoder.weight";
  if (!file.find(ours) || !file.find(repeated)) return;
  const bool same = same_bits(file, ours, repeated), tied = recipe.model.tied;
  require_input(same || !tied,
                "{}: '{}' is not '{}', and the recipe in it has model.tied = true: one matrix is both",
                file.path(), repeated, ours);
  require_input(!same || tied,
                "{}: '{}' repeats '{}', and the recipe in it has model.tied = false: two matrices",
                file.path(), repeated, ours);
}

std::vector<NamedTensor> carried(const ModelState& state) {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, tensor] : {std::pair{"h", state.recurrent.h},
                                     {"c", state.recurrent.c},
                                     {"past", state.transformer.h},
                                     {"past_steps", state.transformer.c}})
    if (tensor.defined()) tensors.push_back({name, tensor});
  return tensors;
}

void save_model(const std::filesystem::path& path, const Recipe& recipe, const Vocabulary& vocabulary,
                const LanguageModel& model) {
  std::vector<NamedTensor> tensors = state_dict(model.params);
  std::ranges::copy(tied_weights(model), std::back_inserter(tensors));
  Metadata metadata = model_metadata(recipe, vocabulary);
  metadata["format"] = "pt";
  write_safetensors(path, tensors, metadata);
}

SavedModel load_model(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  check_checkpoint_version(file);
  SavedModel saved;
  saved.recipe = load_recipe(recipe_of(file, "ptb"), for_this_machine());
  saved.vocabulary = vocabulary_of(file);
  require_input(saved.vocabulary.size() > 0, "{}: its vocabulary is empty", file.path());
  saved.model = std::make_unique<LanguageModel>(saved.recipe, saved.vocabulary.size());
  load_state_dict(file, saved.model->params);
  check_tied(file, saved.recipe);
  return saved;
}

// --- to begin with -----------------------------------------------------------------------------------------

static void check_vocabulary(const SafetensorsFile& file, const Recipe& recipe, const Vocabulary& vocabulary,
                             const std::string& text) {
  const Vocabulary its = vocabulary_of(file);
  const auto &then = its.words(), &now = vocabulary.words();
  const char* one = recipe.data.level == Level::word ? "word" : "character";
  const auto [a, b] = std::ranges::mismatch(then, now);
  const auto number = a - then.begin() + 1;
  if (a != then.end() && b != now.end())
    throw InputError(fmt::format("{}: its vocabulary is not that of the {}: {} {} is '{}' in it, '{}' there",
                                 file.path(), text, one, number, one_line(*a), one_line(*b)));
  require_input(a == then.end() && b == now.end(),
                "{}: its vocabulary is not that of the {}: it has {} {}s, and {} are there", file.path(),
                text, then.size(), one, now.size());
}

std::vector<DifferingKey> differing_keys(const SafetensorsFile& file, const Recipe& recipe) {
  check_checkpoint_version(file);
  return differing_keys(load_recipe(recipe_of(file, "ptb"), for_this_machine()), recipe);
}

void load_first_weights(const std::filesystem::path& path, const Recipe& recipe, const Vocabulary& vocabulary,
                        const std::string& text, LanguageModel& model) {
  const SafetensorsFile file(path);
  check_checkpoint_version(file);
  (void)recipe_of(file, "ptb");  // or it is another program's
  check_vocabulary(file, recipe, vocabulary, text);
  const bool tied = model.params.find("decoder.weight") == nullptr;
  unroll::load_first_weights(file, model.params, tied ? "decoder.weight" : "",
                             tied ? "embedding.weight" : "", "past_decoder.");
}

}  // namespace ptb
