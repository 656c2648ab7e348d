// ptb train: from a recipe to a model in a folder of its own.
#include <fmt/format.h>

#include "commands.h"
#include "framework/threads.h"
#include "session.h"
#include "training/run_folder.h"

namespace ptb {

namespace {

// False if only help was asked for.
bool parse(const Arguments& arguments, TrainOptions& train) {
  std::string data, out, engine;
  std::vector<std::string> sets;
  int thread_count = 0;
  uint64_t seed = 0;
  Options options("train", "RECIPE", "Trains a model from a recipe: a file, or the name of a bundled one.");
  options.add("data", data, "DIR", "folder of the text (default for PTB: data/ptb)");
  options.add("out", out, "DIR", "folder of the run (default: runs/<recipe>-<n>)");
  options.add("set", sets, "KEY=VALUE", "another value for a key of the recipe; may be repeated");
  options.add("engine", engine, "NAME", "of the LSTM: auto, fused, composed");
  options.add("threads", thread_count, "N", "at most so many (default: one per core)");
  options.add("seed", seed, "N", "of first values and dropout masks");
  options.add("json", train.json,
              "the last line of standard output is a JSON object, all else is standard error");
  options.add("dry-run", train.dry_run, "one step of training and a little scoring; writes nothing");
  options.add("overfit-one-batch", train.overfit_one_batch,
              "learn one window by heart: what cannot do that has a flaw; writes nothing");
  if (!options.parse(arguments)) return false;
  if (options.given("threads")) set_threads(thread_count);
  std::vector<Override> overrides;
  for (const std::string& assignment : sets) overrides.push_back({assignment, "--set"});
  if (options.given("engine")) overrides.push_back({fmt::format("model.engine={}", engine), "--engine"});
  if (options.given("seed")) overrides.push_back({fmt::format("training.seed={}", seed), "--seed"});
  train.recipe = load_recipe(options.positional(), overrides);
  train.data = data;
  train.out = out;
  require_input(!options.given("out") || !out.empty(), "train: --out names no folder");
  require_input(!(train.dry_run && train.overfit_one_batch),
                "train: --dry-run and --overfit-one-batch exclude each other");
  return true;
}

}  // namespace

void train(const Arguments& arguments) {
  TrainOptions options;
  if (!parse(arguments, options)) return;
  check_run_folder(options.out);  // before the text is read, which may take a while
  const bool dry_run = options.dry_run, overfit = options.overfit_one_batch;
  if (overfit) options.recipe.model.dropout = 0;  // what is to be learnt by heart must not be hidden
  Session session(std::move(options));
  if (dry_run) return session.dry_run();
  if (overfit) return session.overfit_one_batch();
  session.run();
}

}  // namespace ptb
