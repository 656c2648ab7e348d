// ptb resume: goes on with a run that was interrupted, killed, or is to have more epochs.
#include "examples/ptb/commands/commands.h"
#include "examples/ptb/model/options.h"
#include "examples/ptb/model/saved_model.h"
#include "examples/ptb/session/session.h"
#include "training/program/run/model_file.h"
#include "training/program/run/processes.h"

namespace ptb {

void resume(Command& command) {
  TrainRequest request;
  if (!parse_resume(command, text_option(), recipe_options(), request)) return;
  const Recipe recipe = load_recipe(request.recipe, request.overrides);
  check_processes(recipe.training);
  request.machine.set_up(command, recipe.training.precision);
  if (recipe.data.corpus == CorpusKind::grammar && !request.data_given)
    request.run.data.clear();  // those of another corpus, which the run began with
  if (const auto file = checkpoint_to_resume(request.run.out)) {
    const Recipe then = load_recipe(recipe_of(*file, "ptb"));
    refuse_fixed_keys(file->path(), differing_keys(then, recipe));
    check_tied(*file, then);
  }
  TextTraining(request.run, recipe).run();
}

}  // namespace ptb
