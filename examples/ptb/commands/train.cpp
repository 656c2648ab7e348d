// ptb train: from a recipe to a model in a folder of its own.
#include <fmt/format.h>

#include "examples/ptb/commands/commands.h"
#include "examples/ptb/model/options.h"
#include "examples/ptb/session/session.h"
#include "training/program/run/first_weights.h"
#include "training/program/run/machine.h"
#include "training/program/run/processes.h"
#include "training/run_folder.h"

namespace ptb {

namespace {

// The options of the command line.
struct Request {
  RunOptions run;
  Recipe recipe;
  bool overfit_one_batch = false;
};

// Returns false if only the declarations were asked for.
bool parse(Command& command, Request& train) {
  std::string data;
  Machine machine;
  RecipeOptions recipe = recipe_options();
  TrainOutput output;
  command.describe(
      "Trains a model from a recipe. Scores it on the validation split after each epoch, and on the test "
      "split at the end. Each run has a folder of its own; a run never writes to a folder that has something "
      "in it.");
  recipe.add_with_recipe(command, {.seed = true});
  command.group(text_option().heading);
  add_data_option(command, data);
  machine.add_to(command);
  output.add_to(command, train.run);
  command.group("To look whether a model can learn");
  command.option("dry-run", train.run.dry_run, "one step of training and a little scoring; writes nothing");
  command.option("overfit-one-batch", train.overfit_one_batch,
                 "learn one window by heart; a model that cannot has a flaw; writes nothing");
  command.example("train demo", "the first run: text is generated, nothing has to be there");
  command.example("train ptb-small --data ptb --seed 2", "a published recipe, on the Penn Treebank in ptb/");
  command.example("train mine.toml --set model.hidden=300 --set training.epochs=5",
                  "variations on a recipe of yours");
  if (!command.parse()) return false;
  std::vector<Override> overrides = recipe.overrides(command);
  output.take(command, train.run, overrides);
  train.recipe = load_recipe(command.positional(), overrides);
  check_processes(train.recipe.training);
  machine.set_up(command, train.recipe.training.precision);
  train.run.data =
      text_folder(train.recipe, data);  // also the default: the run may be resumed from elsewhere
  train.run.init_from = first_weights_file(train.recipe.training);
  require_input(!(train.run.dry_run && train.overfit_one_batch),
                "train: --dry-run and --overfit-one-batch exclude each other");
  return true;
}

}  // namespace

void train(Command& command) {
  Request request;
  if (!parse(command, request)) return;
  check_run_folder(request.run.out);  // before the text is read, which may take a while
  if (request.overfit_one_batch) {    // what is to be learnt by heart must not be hidden
    auto& model = request.recipe.model;
    static_cast<RecurrentConfig&>(model) = without_dropping(model);
    model.embedding_dropout = model.attention_dropout = 0;
    model.input_dropout = model.hidden_dropout = model.output_dropout = -1;  // as dropout
    model.component_dropout = 0;
    auto& t = request.recipe.training;
    t.activation_regularization = t.temporal_activation_regularization = 0;
    t.past_decode = t.adversarial_softmax = 0;
  }
  TextTraining training(request.run, request.recipe);
  if (request.run.dry_run) return training.dry_run();
  if (request.overfit_one_batch) return training.overfit_one_batch();
  training.run();
}

}  // namespace ptb
