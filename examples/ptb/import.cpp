// ptb import: makes a model's file of a language model that was trained in PyTorch.
#include <cmath>

#include <fmt/format.h>

#include "commands.h"
#include "framework/one_line.h"
#include "options.h"
#include "recipe_layers.h"
#include "saved_model.h"
#include "text.h"
#include "torch_model.h"
#include "training/state_dict.h"
#include "training/vocabulary_file.h"

namespace ptb {

namespace {

namespace fs = std::filesystem;

// The recipe that is asked for, but for the sizes: those the shapes say.
Recipe load_recipe_for(const TorchModel& model, const fs::path& file, const std::string& name,
                       const std::vector<std::string>& sets) {
  std::vector<Override> overrides;
  for (const std::string& assignment : sets) {
    const std::string key = assignment.substr(0, assignment.find_first_of(" ="));
    for (const char* of_shapes :
         {"model.embedding", "model.hidden", "model.layers", "model.tied", "model.cell", "model.projection"})
      require_input(key != of_shapes, "--set {}: what {} is, the shapes in {} say", assignment, key,
                    file.string());
    overrides.push_back({assignment, "--set"});
  }
  for (const auto& [key, value] :
       {std::pair("embedding", model.embedding), std::pair("hidden", model.hidden),
        std::pair("layers", model.layers), std::pair("projection", model.projection)})
    overrides.push_back({fmt::format("model.{}={}", key, value), file.string()});
  overrides.push_back({fmt::format("model.tied={}", model.tied), file.string()});
  overrides.push_back(
      {fmt::format("model.cell={}", model.cell == Cell::gru ? "gru" : "lstm"), file.string()});
  const Recipe recipe =
      name.empty()
          ? load_recipe({.name = file.stem().string(), .origin = "the default recipe", .text = ""}, overrides)
          : load_recipe(name, overrides);
  const std::string options = unknown_to_torch(recipe);
  require_input(options.empty(),
                "import: the recipe asks for {}, which no module of PyTorch computes that {} could be of",
                options, file.string());
  return recipe;
}

// A model of ours that PyTorch could not have made.
void check_module(const SafetensorsFile& file) {
  const auto found = file.metadata().find("pytorch");
  const std::string modules = found == file.metadata().end() ? "" : found->second;
  require_input(
      !modules.starts_with("none: "),
      "{}: PyTorch has no module that computes it ({}); it is a model's file already and needs no import",
      file.path(), one_line(modules.substr(std::min<size_t>(6, modules.size()))));
}

// The words and where they were found.
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
  return {load_text(recipe, data).corpus.vocabulary, "the training split of " + describe(recipe, data)};
}

// Fills the model; what the file lacks (biases) becomes zero.
void fill(LanguageModel& model, const SafetensorsFile& file, const TorchModel& torch) {
  const auto load = [&](const std::string& name, const Tensor& into) {
    const auto theirs = torch.names.find(name);
    if (theirs == torch.names.end()) return into.fill(0);
    file.load_into(theirs->second, into);
    for (const real number : into.span())
      require_input(std::isfinite(number), "{}: '{}' has numbers that are not finite", file.path(),
                    theirs->second);
  };
  load_state_dict(load, model.params);
}

}  // namespace

void import_model(Command& command) {
  std::string recipe_name, vocabulary, data, out;
  std::vector<std::string> sets, renames;
  command.describe(
      "Makes a model's file of a language model that was trained in PyTorch and saved with "
      "safetensors.torch.save_file(model.state_dict(), FILE): an embedding, an LSTM or a GRU, a decoder. "
      "Sizes come from the shapes, two biases are summed, and a decoder that has no weights is tied to the "
      "embedding. What is taken for what is printed.");
  command.word("FILE", "a state_dict as safetensors");
  command.option("out", out, "FILE", "the model's file that is to be written");
  command
      .option(
          "vocabulary", vocabulary, "FILE",
          "the words in the order of their ids: one per line, or a JSON array in a file that ends in .json")
      .otherwise("what the file's metadata says");
  command.option("data", data, "DIR",
                 "folder of a text whose words were numbered as they first appear in its training split");
  command.option("recipe", recipe_name, "RECIPE", "what the shapes do not say: text, dropout, training")
      .otherwise("every default");
  command.option("set", sets, "KEY=VALUE", "another value for a key of the recipe; may be repeated");
  command.option(
      "rename", renames, "THEIRS=OURS",
      "what a tensor, or all of a module, is; with nothing after '=' it is left out; may be repeated");
  command.example("import model.safetensors --data data/ptb --out imported.safetensors",
                  "the words as PyTorch's own example of a language model numbers them");
  command.example("import my.safetensors --rename rnns.0=lstm --out ours.safetensors",
                  "a module with a name of its own");
  if (!command.parse()) return;
  require_input(!out.empty(), "import: --out FILE is missing");
  require_input(!fs::exists(out), "import: {} is there already; nothing is overwritten", out);

  const SafetensorsFile file(command.positional());
  check_module(file);
  const TorchModel torch = read_torch_model(file, renames);
  const Recipe recipe = load_recipe_for(torch, command.positional(), recipe_name, sets);
  const auto [words, origin] = find_vocabulary(file, recipe, vocabulary, data);
  require_input(words.size() == torch.vocab, "{} has {} words, the embedding in {} has {} rows", origin,
                words.size(), file.path(), torch.vocab);
  require_input(words.find(Vocabulary::end_of_sentence).has_value(),
                "{} has no {}, which ends every line; a word of another name in its place must be renamed",
                origin, Vocabulary::end_of_sentence);
  LanguageModel model(recipe, words.size());
  fill(model, file, torch);
  save_model(out, recipe, words, model);

  for (const auto& [ours, tensor] : state_dict(model.params)) {
    const auto theirs = torch.names.find(ours);
    fmt::print("{:<20}{:<15}{}\n", ours, tensor.shape().text(),
               theirs == torch.names.end() ? "zeros" : theirs->second);
  }
  fmt::print("{} words of {}{}\n", words.size(), origin,
             data.empty() ? "" : ", numbered as they first appear");
  fmt::print("embedding {}, {}, decoder {}\n", torch.embedding, describe_layers(recipe),
             torch.tied ? "tied to the embedding" : "with weights of its own");
  fmt::print("{}: written\nnext    ./run ptb evaluate {}\n", out, out);
}

}  // namespace ptb
