#include "training/program/run/run_commands.h"

#include <fmt/format.h>

#include "framework/processes/processes.h"
#include "training/program/run/run_start.h"
#include "training/run_folder.h"

namespace unroll {

bool parse_resume(Command& command, const DataOption& data, RecipeOptions recipe, TrainRequest& request) {
  RunOptions& run = request.run;
  std::string data_given;
  Machine& machine = request.machine;
  command.describe(fmt::format(
      "Goes on with a run from its last checkpoint, with its own recipe, {}, device and number of threads. "
      "The result has the same bits as if it had never been interrupted. Names each change of the recipe, "
      "and refuses one that changes a shape. A finished run prints its results again.",
      data.what));
  command.word("DIR", "the folder of a run: " + command.first_run());
  recipe.add_to(command);
  command.group(data.heading);
  command.option(data.name, data_given, data.value, data.description).otherwise("where it was");
  machine.add_to_resumed(command);
  command.group("Output");
  add_json_option(command, run.json);
  add_watch_options(command, run.quiet, run.profile);
  command.example("resume " + command.first_run(), "after Ctrl-C, a crash, a power cut");
  command.example(fmt::format("resume {} --set training.epochs=200", command.first_run()),
                  "more epochs than were asked for at first");
  if (!command.parse()) return false;
  run.program = command.program();
  run.resume = true;
  run.out = command.positional();
  const RunStart start = read_run_start(run.out, run.program);
  // With several processes each takes its own GPU, so not all can take rank 0's.
  if (!command.given("device"))
    machine.device = process_count() > 1 && start.device.starts_with("cuda") ? "cuda" : start.device;
  if (!command.given("threads") && start.processes == process_count()) machine.threads = start.threads;
  request.data_given = command.given(data.name);
  run.data = request.data_given ? std::filesystem::path(data_given) : start.data;
  run.data_option = data.name;
  run.init_from = start.init_from;
  request.recipe = find_recipe((run.out / "recipe.toml").string());
  request.recipe.name = start.recipe_name;
  request.overrides = recipe.overrides(command);
  return true;
}

void TrainOutput::add_to(Command& command, RunOptions& run) {
  command.group("Output");
  command.option("out", out_, "DIR", "folder of the run").otherwise("runs/<recipe>-<n>");
  add_json_option(command, run.json);
  add_watch_options(command, run.quiet, run.profile);
  command
      .option("log-every", log_every_, "N",
              "steps between two records of the log; overrides training.log_every")
      .otherwise("");
  command.file("recipe.toml",
               "in a run's folder: the recipe with every key spelled out; it can be trained again");
  command.file(log_file, "in a run's folder: a line of JSON for each interval and each epoch");
  command.file("report.html", "in a run's folder: the run's report, for a browser");
  command.file(last_checkpoint, "in a run's folder: the latest checkpoint, model and all");
  command.file(best_checkpoint, "in a run's folder: the checkpoint with the best validation score");
}

void TrainOutput::take(const Command& command, RunOptions& run, std::vector<Override>& overrides) const {
  if (command.given("log-every"))
    overrides.push_back(
        {fmt::format("training.log_every={}", log_every_), fmt::format("--log-every {}", log_every_)});
  require_input(!command.given("out") || !out_.empty(), "train: --out names no folder");
  run.program = command.program();
  run.out = out_;
}

}  // namespace unroll
