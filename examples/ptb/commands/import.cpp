// ptb import: makes a model file from a language model that was trained in PyTorch.
#include "training/program/run/import.h"

#include <fmt/format.h>

#include "examples/ptb/commands/commands.h"
#include "examples/ptb/model/options.h"
#include "examples/ptb/model/saved_model.h"
#include "examples/ptb/model/torch_model.h"
#include "examples/ptb/text/text.h"
#include "training/files/vocabulary_file.h"
#include "training/program/cli/console.h"
#include "training/program/cli/invocation.h"

namespace ptb {

namespace {

namespace fs = std::filesystem;

// The recipe that is asked for, with its sizes from the shapes.
Recipe load_recipe_for(const TorchModel& model, const fs::path& file, const ImportOptions& options) {
  const RecurrentSizes& layers = model.layers;
  std::vector<std::pair<std::string, std::string>> sizes = {
      {"model.architecture", "recurrent"},
      {"model.embedding", std::to_string(layers.input)},
      {"model.hidden", std::to_string(layers.hidden)},
      {"model.layers", std::to_string(layers.layers)},
      {"model.projection", std::to_string(layers.projection)},
      {"model.tied", model.tied ? "true" : "false"},
      {"model.softmax", model.components ? "mixture" : "single"},
      {"model.cell", facts_of(layers.cell).name}};
  if (model.components) sizes.emplace_back("model.components", std::to_string(model.components));
  const Recipe recipe = load_recipe(options.recipe(file, "ptb"), options.overrides(file, sizes));
  check_known_to_torch(layers_of(recipe), file);
  return recipe;
}

// The vocabulary and the place where it was found.
std::pair<Vocabulary, std::string> find_vocabulary(const SafetensorsFile& file, const Recipe& recipe,
                                                   const std::string& vocabulary, const std::string& data) {
  require_input(vocabulary.empty() || data.empty(), "import: --vocabulary and --data exclude each other");
  if (!vocabulary.empty()) return {load_vocabulary(vocabulary), vocabulary};
  if (data.empty() && file.metadata().contains("vocabulary")) return {vocabulary_of(file), "its metadata"};
  require_input(
      !data.empty() || recipe.data.corpus == CorpusKind::grammar,
      "{}: says nothing about its words: --vocabulary FILE names them, or --data DIR a text whose words "
      "were numbered as they first appear",
      file.path());
  return {load_text(recipe, data).vocabulary, "the training split of " + describe(recipe, data)};
}

// The command to try next: evaluate if its text is here, else generate.
std::string next(const Recipe& recipe, const std::string& model, const std::string& data) {
  if (!data.empty()) return fmt::format("evaluate {} --data {}", shell_path(model), shell_path(data));
  std::error_code error;
  const bool has_text =
      recipe.data.corpus == CorpusKind::grammar ||
      (recipe.data.corpus == CorpusKind::ptb && fs::exists(ptb_file("data/ptb", Split::test), error));
  return fmt::format("{} {}", has_text ? "evaluate" : "generate", shell_path(model));
}

}  // namespace

void import_model(Command& command) {
  ImportOptions options;
  std::string vocabulary, data;
  command.describe(
      "Makes a model's file of a language model that was trained in PyTorch and saved with "
      "safetensors.torch.save_file(model.state_dict(), FILE): an embedding, an LSTM, a GRU or an RNN, a decoder, "
      "and between them perhaps the prior and latent of a mixture of softmaxes. "
      "Sizes come from the shapes, two biases are summed, and a decoder without weights is tied to the "
      "embedding. Prints which tensor was taken for which.");
  options.add_to(command, "text, dropout, training");
  command
      .option(
          "vocabulary", vocabulary, "FILE",
          "the words in the order of their ids: one per line, or a JSON array in a file that ends in .json")
      .otherwise("what the file's metadata says");
  command.option("data", data, "DIR",
                 "folder of a text whose words were numbered as they first appear in its training split");
  command.example("import model.safetensors --data data/ptb --out imported.safetensors",
                  "the words as PyTorch's own example of a language model numbers them");
  command.example("import my.safetensors --rename rnns.0=lstm --out ours.safetensors",
                  "a module with a name of its own");
  if (!command.parse()) return;
  options.check();

  const SafetensorsFile file(command.positional());
  check_is_of_torch(file);
  const TorchModel torch = read_torch_model(file, options.renames);
  const Recipe recipe = load_recipe_for(torch, command.positional(), options);
  const auto [words, origin] = find_vocabulary(file, recipe, vocabulary, data);
  check_words(words, recipe.data.level, vocabulary.empty() ? file.path() : vocabulary);
  require_input(words.size() == torch.vocab, "{} has {} words, the embedding in {} has {} rows", origin,
                words.size(), file.path(), torch.vocab);
  require_input(words.find(Vocabulary::end_of_sentence).has_value(),
                "{} has no {}, which ends every line; a word of another name in its place must be renamed",
                origin, Vocabulary::end_of_sentence);
  LanguageModel model(recipe, words.size());
  fill_from_torch(model.params, file, torch.names);
  save_model(options.out, recipe, words, model);

  show("{}", table_of_names(model.params, torch.names));
  show("{} words of {}{}\n", words.size(), origin, data.empty() ? "" : ", numbered as they first appear");
  show("embedding {}, {}, decoder {}\n", torch.layers.input, describe_layers(recipe),
       torch.tied ? "tied to the embedding" : "with weights of its own");
  show("{}", unsaid_by_shapes(cell_of(recipe), layers_of(recipe), options));
  show("{}: written\nnext    {} {}\n", shown(options.out), invocation("ptb"),
       next(recipe, options.out, data));
}

}  // namespace ptb
