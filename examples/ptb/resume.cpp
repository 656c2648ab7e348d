// ptb resume: goes on with a run that was interrupted, killed, or is to have more epochs.
#include "commands.h"
#include "framework/threads.h"
#include "options.h"
#include "run_start.h"
#include "session.h"

namespace ptb {

void resume(Command& command) {
  TrainOptions train;
  std::string data;
  int thread_count = 0;
  RecipeOptions recipe;
  command.describe(
      "Goes on with a run from its last checkpoint, with its own recipe, text and number of threads: what "
      "comes out "
      "has the same bits as if it had never been interrupted. What is changed is said; what changes a shape "
      "is "
      "refused. A run that is finished says its results again.");
  command.word("DIR", "the folder of a run: runs/demo-1");
  recipe.add_to(command);
  command.group("Text and machine");
  command.option("data", data, "DIR", "folder of the text").otherwise("where it was");
  command.option("threads", thread_count, "N", "threads that compute, at most")
      .otherwise("as many as it had");
  command.group("Output");
  add_json_option(command, train.json);
  add_watch_options(command, train.quiet, train.profile);
  command.example("resume runs/demo-1", "after Ctrl-C, a crash, a power cut");
  command.example("resume runs/demo-1 --set training.epochs=20", "more epochs than were asked for at first");
  if (!command.parse()) return;
  train.resume = true;
  train.out = command.positional();
  const RunStart start = read_run_start(train.out);
  set_threads(command.given("threads") ? thread_count : start.threads);
  train.data = command.given("data") ? std::filesystem::path(data) : start.data;
  RecipeFile file = find_recipe((train.out / "recipe.toml").string());
  file.name = start.recipe_name;
  train.recipe = load_recipe(file, recipe.overrides(command));
  Session(std::move(train)).run();
}

}  // namespace ptb
