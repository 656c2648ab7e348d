// timeseries train: from a recipe and a series to a model in a folder of its own.
#include "commands.h"
#include "options.h"
#include "session.h"
#include "training/program/run/first_weights.h"
#include "training/program/run/machine.h"
#include "training/program/run/processes.h"
#include "training/run_folder.h"

namespace timeseries {

void train(Command& command) {
  RunOptions run;
  std::string csv;
  Machine machine;
  RecipeOptions options = recipe_options();
  TrainOutput output;
  command.describe(
      "Trains a model from a recipe and a series. Scores it on the validation split after each epoch, and at "
      "the end on the test split, beside the baselines on the same windows. Each run has a folder of its "
      "own; a run never writes to a folder that has something in it.");
  options.add_with_recipe(command, {.seed = true});
  command.group(csv_option().heading);
  add_csv_option(command, csv);
  machine.add_to(command);
  output.add_to(command, run);
  command.group("To look whether a model can learn");
  command.option("dry-run", run.dry_run, "one step of training and a little scoring; writes nothing");
  command.example("train airline", "the first run: the series is bundled");
  command.example("train etth1 --csv ETTh1.csv --seed 2",
                  "a published protocol, on a file that data/get-series.sh fetches");
  command.example("train mine.toml --csv sales.csv --set data.horizon=7", "a recipe of yours");
  if (!command.parse()) return;
  std::vector<Override> overrides = options.overrides(command);
  output.take(command, run, overrides);
  const Recipe recipe = load_recipe(command.positional(), overrides);
  check_processes(recipe.training);
  machine.set_up(command, recipe.training.precision);
  run.data = csv;
  run.init_from = first_weights_file(recipe.training);
  check_run_folder(run.out);  // before the series is read
  const std::optional<SavedModel> first = first_model(run.init_from, recipe);
  SeriesTraining training(run, recipe, {.model = first ? &*first : nullptr});
  run.dry_run ? training.dry_run() : training.run();
}

}  // namespace timeseries
