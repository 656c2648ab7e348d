// ptb: trains language models, of the Penn Treebank and other text.
#include <fmt/format.h>

#include "examples/ptb/commands/commands.h"
#include "examples/ptb/model/recipe.h"
#include "training/program/cli/program.h"
#include "training/program/run/run_commands.h"

namespace {

std::vector<unroll::Entry> recipe_keys() {
  ptb::Recipe recipe;
  unroll::RecipeReader reader;
  ptb::declare_keys(reader, recipe);
  return unroll::listed_keys(reader);
}

}  // namespace

int main(int argc, char** argv) {
  const unroll::Program program = {
      .name = "ptb",
      .purpose = "trains language models",
      .description = fmt::format(
          "Trains language models (LSTM, GRU, Transformer) of the Penn Treebank and other text, scores them, "
          "and lets them "
          "write. A recipe says everything about a run: model, data, training; it is a TOML file or the "
          "name of a bundled one ({}). A run leaves a folder of its own, and a model's file in it can be "
          "used alone.",
          fmt::join(unroll::bundled_recipes("ptb"), ", ")),
      .commands = {{"train", "trains a model from a recipe", ptb::train, true},
                   {"resume", "goes on with a run that was interrupted, killed, or is to have more epochs",
                    ptb::resume, true},
                   {"sweep", "trains a recipe with several values and seeds, and compares them", ptb::sweep},
                   {"evaluate", "scores a trained model on a split of its text", ptb::evaluate, true},
                   {"generate", "lets a trained model write", ptb::generate},
                   {"look", "makes a page that shows what a model does while it reads", ptb::look},
                   {"report", "makes the report of a run again", unroll::report_command},
                   {"explain", "parameters, work, memory and engine of a recipe's model", ptb::explain},
                   {"import", "makes a model's file of one trained in PyTorch", ptb::import_model},
                   {"export", "writes a model in a form that runs without this program", ptb::export_model}},
      .without_arguments = {"train", "demo"},
      .recipe_keys = recipe_keys};
  return unroll::run(program, argc, argv);
}
