// timeseries sweep: trains a recipe with several values and seeds.
#include "training/program/sweep/sweep.h"

#include "examples/timeseries/commands/commands.h"
#include "examples/timeseries/data/series_data.h"
#include "examples/timeseries/recipe/options.h"
#include "training/program/run/first_weights.h"

namespace timeseries {

void sweep(Command& command) {
  sweep_command(command, {.data = csv_option(),
                          .recipe = recipe_options(),
                          .example = "sweep airline --set model.hidden=20,40 --seeds 1..3",
                          .resolve =
                              [](const RecipeFile& recipe, const std::vector<Override>& overrides) {
                                return resolved(load_recipe(recipe, overrides));
                              },
                          .make_data =
                              [](const RecipeFile& trial, const std::filesystem::path& data) {
                                const Recipe recipe = load_recipe(trial);
                                const auto first = first_model(first_weights_file(recipe.training), recipe);
                                const SeriesData made(recipe, data, {.model = first ? &*first : nullptr});
                              },
                          .differing_keys =
                              [](const std::string& before, const std::string& after) {
                                const auto read = [](const std::string& text) {
                                  return load_recipe(RecipeFile{"", "a trial's recipe", text});
                                };
                                return differing_keys(read(before), read(after));
                              }});
}

}  // namespace timeseries
