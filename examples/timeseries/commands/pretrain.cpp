// timeseries pretrain: trains a forecaster once, on synthetic series, to forecast any series afterwards.
#include "examples/timeseries/commands/commands.h"
#include "examples/timeseries/pretrained/training.h"
#include "training/program/cli/options.h"
#include "training/program/run/first_weights.h"
#include "training/program/run/machine.h"
#include "training/program/run/run_commands.h"
#include "training/run_folder.h"

namespace timeseries {

void pretrain(Command& command) {
  RunOptions run;
  Machine machine;
  PretrainRecipe keys;
  RecipeReader reader;
  declare_keys(reader, keys);
  RecipeOptions options(reader);
  TrainOutput output;
  command.describe(
      "Trains a forecaster on synthetic series, each of which it sees once. Afterwards it forecasts series that it never saw, "
      "with quantiles and without training. The one that ships with the program was made so, by the recipe forecaster.");
  command.word("RECIPE", "the bundled recipe forecaster, or a TOML file");
  options.add_to(command, {.seed = true});
  command.group("Machine");
  machine.add_to(command);
  output.add_to(command, run);
  command.file(forecaster_file, "in a run's folder: the forecaster, in 16 bits");
  command.group("To look whether a model can learn");
  command.option("dry-run", run.dry_run, "one step of training; writes nothing");
  command.example("pretrain forecaster", "makes the bundled forecaster again");
  command.example("pretrain forecaster --set model.hidden=64 --set training.epochs=2",
                  "a small one, in minutes");
  if (!command.parse()) return;
  std::vector<Override> overrides = options.overrides(command);
  output.take(command, run, overrides);
  const PretrainRecipe recipe =
      pretrain_form.load(find_recipe(command.positional(), pretrain_program), overrides);
  machine.set_up(command, recipe.training.precision);
  run.init_from = first_weights_file(recipe.training);
  check_run_folder(run.out);
  run_pretraining(run, recipe);
}

}  // namespace timeseries
