// timeseries resume: goes on with a run that was interrupted, killed, or is to have more epochs.
#include "commands.h"
#include "options.h"
#include "session.h"

namespace timeseries {

void resume(Command& command) {
  TrainRequest request;
  if (!parse_resume(command, csv_option(), recipe_options(), request)) return;
  SeriesTraining(request.run, load_recipe(request.recipe, request.overrides)).run();
}

}  // namespace timeseries
