// ptb resume: goes on with a run that was interrupted, killed, or is to have more epochs.
#include "commands.h"
#include "options.h"
#include "session.h"

namespace ptb {

void resume(Command& command) {
  TrainRequest request;
  if (!parse_resume(command, text_option(), recipe_options(), request)) return;
  TextTraining(request.run, load_recipe(request.recipe, request.overrides)).run();
}

}  // namespace ptb
