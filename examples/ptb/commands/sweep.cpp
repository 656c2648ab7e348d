// ptb sweep: a recipe with several values and seeds.
#include "training/program/sweep/sweep.h"

#include "examples/ptb/commands/commands.h"
#include "examples/ptb/model/options.h"
#include "examples/ptb/text/text.h"

namespace ptb {

void sweep(Command& command) {
  sweep_command(command, {.data = text_option(),
                          .recipe = recipe_options(),
                          .example = "sweep demo --set model.hidden=100,200 --seeds 1..3",
                          .resolve =
                              [](const RecipeFile& recipe, const std::vector<Override>& overrides) {
                                return resolved(load_recipe(recipe, overrides));
                              },
                          .make_data =
                              [](const RecipeFile& trial, const std::filesystem::path& data) {
                                const Recipe recipe = load_recipe(trial);
                                check_streams(recipe, std::ssize(load_text(recipe, data).train.tokens));
                              },
                          .differing_keys =
                              [](const std::string& before, const std::string& after) {
                                const auto read = [](const std::string& text) {
                                  return load_recipe(RecipeFile{"", "a trial's recipe", text});
                                };
                                return differing_keys(read(before), read(after));
                              }});
}

}  // namespace ptb
