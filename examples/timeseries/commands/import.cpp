// timeseries import: makes a model's file from a model of series trained in PyTorch.
#include "training/program/run/import.h"

#include <sstream>

#include <fmt/format.h>

#include "examples/timeseries/commands/commands.h"
#include "examples/timeseries/data/series_data.h"
#include "examples/timeseries/model/saved_model.h"
#include "examples/timeseries/recipe/options.h"
#include "training/program/cli/console.h"
#include "training/program/cli/invocation.h"

namespace timeseries {

namespace {

namespace fs = std::filesystem;

// The modules of a recipe's models, and the names they may have.
std::vector<KnownModule> known_modules(const Recipe& recipe) {
  const std::vector<std::string> dense = {"weight", "bias"};
  const std::vector<std::string> outputs = {"head", "fc",     "linear",     "out",       "output",
                                            "proj", "Linear", "projection", "regressor", "classifier"};
  std::vector<KnownModule> modules;
  for (size_t k = 1; k <= recipe.data.categories.size(); ++k)
    modules.push_back({fmt::format("category{}", k), {fmt::format("category{}", k)}, {"weight"}});
  if (!recipe.data.known.empty())
    modules.insert(modules.end(), {{"ahead_state", {"ahead_state"}, dense},
                                   {"ahead_head", {"ahead_head"}, {"weight"}},
                                   {"ahead", {"ahead"}, {"weight"}}});
  const NetworkRow& network = *recipe.model.architecture;
  std::istringstream all(network.modules);
  for (std::string one; std::getline(all, one, ',');) {
    std::istringstream words(one);
    KnownModule module{.ours = {}, .theirs = {}, .leaves = dense};
    for (std::string word; words >> word;) {
      if (word == "*")
        module.theirs.insert(module.theirs.end(), outputs.begin(), outputs.end());
      else if (word.front() != ':')
        module.theirs.push_back(word);
      else if (module.leaves.clear(); word.size() > 1)
        module.leaves.push_back(word.substr(1));
    }
    module.ours = module.theirs.front();
    modules.push_back(module);
  }
  if (network.is_recurrent()) modules.push_back({"lstm", {}, {}});
  return modules;
}

// The recipe asked for, with the sizes of recurrent layers taken from the weights' shapes.
Recipe load_recipe_for(const SafetensorsFile& file, const fs::path& path, const ImportOptions& options,
                       std::map<std::string, std::string>& names) {
  const RecipeFile text = options.recipe(path, "timeseries");
  const Recipe asked = load_recipe(text, options.overrides(path, {}));
  const TorchTensors tensors(file, known_modules(asked), options.renames);
  names = tensors.names;
  if (!asked.model.architecture->is_recurrent()) return asked;
  const RecurrentSizes sizes = read_recurrent_sizes(tensors, "lstm");
  names = with_scope(tensors.names, "lstm", facts_of(sizes.cell).name);
  const Recipe recipe =
      load_recipe(text, options.overrides(path, {{"model.hidden", std::to_string(sizes.hidden)},
                                                 {"model.layers", std::to_string(sizes.layers)},
                                                 {"model.projection", std::to_string(sizes.projection)},
                                                 {"model.cell", facts_of(sizes.cell).name}}));
  check_known_to_torch(recipe.model.layers_of(sizes.input), path);
  return recipe;
}

}  // namespace

void import_model(Command& command) {
  ImportOptions options;
  std::string csv;
  command.describe(
      "Makes a model's file of a model of series that was trained in PyTorch and saved with "
      "safetensors.torch.save_file(model.state_dict(), FILE): an LSTM, a GRU or an RNN and a linear layer "
      "over its last step, an encoder and a decoder, or linear layers alone. The recipe says what the model "
      "is for: window, horizon, channels, architecture. Width, number and kind of the recurrent layers come "
      "from the shapes; two biases are summed. Channels and their scaling are measured on the series. Prints "
      "which tensor was taken for which.");
  options.add_to(command, "series, windows, architecture, normalization");
  command.group("Series");
  add_csv_option(command, csv);
  command.example("import model.safetensors --recipe mine.toml --csv sales.csv --out imported.safetensors",
                  "a forecaster of the columns that the recipe names");
  command.example(
      "import nlinear.safetensors --recipe etth1-nlinear --csv ETTh1.csv --out imported.safetensors",
      "the weights of NLinear as its authors name them");
  if (!command.parse()) return;
  options.check();

  const SafetensorsFile file(command.positional());
  check_is_of_torch(file);
  std::map<std::string, std::string> names;
  const Recipe recipe = trained_on_file(load_recipe_for(file, command.positional(), options, names), csv);
  const SeriesData data(recipe, csv);
  SeriesModel model(recipe, columns_of(*data.train));
  fill_from_torch(model.params, file, names);
  ModelFacts facts = data.facts;
  facts.trained = {};  // unknown which rows trained
  save_model(options.out, recipe, facts, model);

  print_notes({.out = stdout}, data);
  show("{}", table_of_names(model.params, names));
  show("{}\n", torch_modules(recipe, model.params));
  show("reads {} rows of {}, scaled as the training rows of {} say\n", recipe.data.window,
       fmt::join(data.series().channels, ", "), describe(recipe, csv));
  show("{}", unsaid_by_shapes(cell_of(recipe), recipe.model.layers_of(1), options));
  show("{}: written\nnext    {} evaluate {}{}\n", shown(options.out), invocation("timeseries"),
       shell_path(options.out), csv.empty() ? "" : " --csv " + shell_path(csv));
}

}  // namespace timeseries
