// timeseries train: trains a model from a recipe and a series, in a folder of its own.
#include "examples/timeseries/commands/commands.h"
#include "examples/timeseries/data/series_read.h"
#include "examples/timeseries/files/series_file.h"
#include "examples/timeseries/guess/from_file.h"
#include "examples/timeseries/recipe/options.h"
#include "examples/timeseries/session/session.h"
#include "training/program/run/first_weights.h"
#include "training/program/run/machine.h"
#include "training/program/run/processes.h"
#include "training/run_folder.h"

namespace timeseries {

namespace {

void train_file(const Command& command, RunOptions& run, const FileOptions& file, int steps,
                const Machine& machine, std::vector<Override> overrides, const std::string& csv) {
  const std::string& path = command.positional();
  require_input(csv.empty(), "train: --csv {} beside {}: the series stands in the recipe's place already",
                csv, path);
  require_input(!command.given("steps") || (steps >= 1 && steps <= 1'000'000),
                "train: --steps {} must be in [1, 1000000]", steps);
  machine.set_up(command, recipe_of(overrides).training.precision);
  Wishes wishes = file.wishes(command, steps, std::move(overrides));
  wishes.train = 0.7, wishes.valid = 0.1, wishes.network = true;
  check_run_folder(run.out);
  const Console console = run.console();
  if (path == standard_input) run.data = path;  // its recipe names no file
  const Recipe recipe = recipe_for(path, wishes, console);
  check_processes(recipe.training);
  run.init_from = first_weights_file(recipe.training);
  SeriesTraining(run, recipe).run();
}

}  // namespace

void train(Command& command) {
  RunOptions run;
  std::string csv;
  Machine machine;
  RecipeOptions options = recipe_options();
  TrainOutput output;
  FileOptions file;
  int steps = 0;
  command.describe(
      "Trains a model from a recipe and a series. Scores it on the validation split after each epoch, and at "
      "the end on the test split, beside the baselines on the same windows. Each run has a folder of its "
      "own; a run never writes to a folder that has something in it. With a series alone, FILE.csv in the "
      "recipe's place (or FILE.csv.gz, or -, standard input), it guesses the recipe of one network, says each guess, "
      "and keeps model and recipe.");
  options.add_with_recipe(command, {.seed = true});
  command.also_takes_series();
  file.add_to(command);
  command.option("steps", steps, "N", "rows to forecast").otherwise("guessed");
  command.group(csv_option().heading);
  add_csv_option(command, csv);
  machine.add_to(command);
  output.add_to(command, run);
  command.group("To look whether a model can learn");
  command.option("dry-run", run.dry_run, "one step of training and a little scoring; writes nothing");
  command.example("train airline", "the first run: the series is bundled");
  command.example("train etth1 --csv ETTh1.csv --seed 2",
                  "a published protocol, on a file that data/get-series.sh fetches");
  command.example("train sales.csv --column units --steps 14", "without a recipe: a GRU over segments");
  command.example("train mine.toml --csv sales.csv --set data.horizon=7", "a recipe of yours");
  if (!command.parse()) return;
  std::vector<Override> overrides = options.overrides(command);
  output.take(command, run, overrides);
  const bool is_file = is_series_file(command.positional());
  if (is_file) return train_file(command, run, file, steps, machine, std::move(overrides), csv);
  file.refuse(command, "a recipe says what to train");
  require_input(!command.given("steps"),
                "train: --steps is for a series without a recipe; data.horizon is a recipe's key for it");
  const Recipe recipe = trained_on_file(load_recipe(command.positional(), overrides), csv);
  check_processes(recipe.training);
  machine.set_up(command, recipe.training.precision);
  run.data = csv;
  run.init_from = first_weights_file(recipe.training);
  check_run_folder(run.out);  // before the series is read
  SeriesTraining(run, recipe).run();
}

}  // namespace timeseries
