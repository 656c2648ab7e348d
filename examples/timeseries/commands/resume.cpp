// timeseries resume: continues a run that was interrupted, killed, or is to have more epochs.
#include "examples/timeseries/commands/commands.h"
#include "examples/timeseries/data/series_read.h"
#include "examples/timeseries/pretrained/training.h"
#include "examples/timeseries/recipe/options.h"
#include "examples/timeseries/session/session.h"
#include "training/program/run/model_file.h"
#include "training/program/run/processes.h"

namespace timeseries {

static void resume_pretraining(const Command& command, const TrainRequest& request) {
  const PretrainRecipe recipe = pretrain_form.load(request.recipe, request.overrides);
  require_input(!request.data_given, "resume: this run makes its series itself, and reads no --csv");
  if (!is_first_process()) return;
  const AloneForNow alone;  // as pretrain trains it
  request.machine.set_up(command, recipe.training.precision);
  run_pretraining(request.run, recipe);
}

void resume(Command& command) {
  TrainRequest request;
  if (!parse_resume(command, csv_option(), recipe_options(), request)) return;
  if (pretrains(request.recipe)) return resume_pretraining(command, request);
  const Recipe recipe = load_recipe(request.recipe, request.overrides);
  check_processes(recipe.training);
  request.machine.set_up(command, recipe.training.precision);
  // The model's own facts count, whatever the series says today. Today's recipe says how it is read.
  std::optional<SavedModel> model;
  if (const auto file = checkpoint_to_resume(request.run.out)) {
    refuse_fixed_keys(file->path(), differing_keys(load_recipe(recipe_of(*file, "timeseries")), recipe));
    model = read_saved_model(file->path());
    model->recipe = recipe;
  }
  const Recipe now = trained_on_file(recipe, request.data_given ? request.run.data : std::filesystem::path());
  SeriesTraining(request.run, now, {.model = model ? &*model : nullptr}).run();
}

}  // namespace timeseries
