// ptb train: from a recipe to a model in a folder of its own.
#include <fmt/format.h>

#include "commands.h"
#include "framework/threads.h"
#include "options.h"
#include "session.h"
#include "training/run_folder.h"

namespace ptb {

namespace {

// False if only what is declared was wanted.
bool parse(Command& command, TrainOptions& train) {
  std::string data, out;
  int thread_count = 0;
  int64_t log_every = 0;
  RecipeOptions recipe;
  command.describe(
      "Trains a model from a recipe, scores it on the valid split after each epoch and on the test split at "
      "the end. "
      "The run gets a folder of its own, with all that it leaves; a folder that has something in it is never "
      "written to.");
  recipe.add_with_recipe(command, true);
  command.group("Text and machine");
  add_data_option(command, data);
  add_threads_option(command, thread_count);
  command.group("Output");
  command.option("out", out, "DIR", "folder of the run").otherwise("runs/<recipe>-<n>");
  add_json_option(command, train.json);
  add_watch_options(command, train.quiet, train.profile);
  command
      .option("log-every", log_every, "N",
              "steps between two records of the log; before the recipe's training.log_every")
      .otherwise("");
  command.group("To look whether a model can learn");
  command.option("dry-run", train.dry_run, "one step of training and a little scoring; writes nothing");
  command.option("overfit-one-batch", train.overfit_one_batch,
                 "learn one window by heart: what cannot do that has a flaw; writes nothing");
  command.example("train demo", "the first run: text is generated, nothing has to be there");
  command.example("train ptb-small --data ptb --seed 2", "a published recipe, on the Penn Treebank in ptb/");
  command.example("train mine.toml --set model.hidden=300 --set training.epochs=5",
                  "variations on a recipe of yours");
  command.file("recipe.toml",
               "in a run's folder: the recipe with every key spelled out; it can be trained again");
  command.file("log.jsonl", "in a run's folder: a line of JSON for each interval and each epoch");
  command.file("report.html", "in a run's folder: the run as a page, for a browser");
  command.file("last.safetensors", "in a run's folder: the latest checkpoint, model and all");
  command.file("best.safetensors", "in a run's folder: the checkpoint of the best valid score");
  if (!command.parse()) return false;
  if (command.given("threads")) set_threads(thread_count);
  std::vector<Override> overrides = recipe.overrides(command);
  if (command.given("log-every"))
    overrides.push_back({fmt::format("training.log_every={}", log_every), "--log-every"});
  train.recipe = load_recipe(command.positional(), overrides);
  train.data = data;
  train.out = out;
  require_input(!command.given("out") || !out.empty(), "train: --out names no folder");
  require_input(!(train.dry_run && train.overfit_one_batch),
                "train: --dry-run and --overfit-one-batch exclude each other");
  return true;
}

}  // namespace

void train(Command& command) {
  TrainOptions options;
  if (!parse(command, options)) return;
  check_run_folder(options.out);  // before the text is read, which may take a while
  const bool dry_run = options.dry_run, overfit = options.overfit_one_batch;
  if (overfit) {  // what is to be learnt by heart must not be hidden
    auto& model = options.recipe.model;
    model.dropout = model.embedding_dropout = model.recurrent_dropout = model.weight_drop = 0;
    model.zoneout_h = model.zoneout_c = 0;
    model.locked_dropout = false;
  }
  Session session(std::move(options));
  if (dry_run) return session.dry_run();
  if (overfit) return session.overfit_one_batch();
  session.run();
}

}  // namespace ptb
