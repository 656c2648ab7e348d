#include "saved_model.h"

#include <algorithm>
#include <iterator>

#include "examples/common/model_file.h"
#include "recipe_layers.h"
#include "training/checkpoint.h"
#include "training/state_dict.h"
#include "training/vocabulary_file.h"

namespace ptb {

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

std::vector<NamedTensor> carried(const RecurrentState& state) {
  std::vector<NamedTensor> tensors = {{"h", state.h}};
  if (state.c.defined()) tensors.push_back({"c", state.c});
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
  return saved;
}

}  // namespace ptb
