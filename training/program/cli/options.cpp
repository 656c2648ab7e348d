#include "training/program/cli/options.h"

#include <algorithm>

#include <fmt/format.h>

namespace unroll {

void add_json_option(Command& command, bool& json) {
  command.option("json", json,
                 "the only line of standard output is a JSON object; all else is standard error");
}

void add_watch_options(Command& command, bool& quiet, bool& profile) {
  command.option("quiet", quiet, "print the results only, and what goes wrong");
  command.option(
      "profile", profile,
      "a table of the time, arithmetic and memory of each operation, at the end and in the report");
}

void add_checkpoint(Command& command) {
  command.word("CHECKPOINT",
               "a model's file that training has left: " + command.first_run() + "/last.safetensors");
}

// Keeps the accepted values of model.engine.
RecipeOptions::RecipeOptions(const RecipeReader& keys)
    : engines_(std::ranges::find(keys.keys(), "model.engine", &RecipeKey::path)->words) {}

void RecipeOptions::add_with_recipe(Command& command, const With& with) {
  command.word("RECIPE", fmt::format("a TOML file, or the name of a bundled recipe: {}",
                                     fmt::join(bundled_recipes(command.program()), ", ")));
  add_to(command, with);
}

void RecipeOptions::add_to(Command& command, const With& with) {
  command.group("Recipe");
  command.option("set", sets_, "KEY=VALUE",
                 with.lists ? "a value for a key of the recipe, or several, as in model.hidden=100,200; may be repeated"
                            : "another value for a key of the recipe, as in model.hidden=300; may be repeated");
  if (with.engine)
    command.option("engine", engine_, "NAME", "how the recurrent layers are computed; overrides model.engine")
        .one_of(engines_);
  if (with.seed)
    command.option("seed", seed_, "N", "of first values and dropout masks; overrides training.seed")
        .otherwise("");
}

std::vector<Override> RecipeOptions::overrides(const Command& command) const {
  std::vector<Override> overrides;
  for (const std::string& assignment : sets_) overrides.push_back({assignment});
  if (command.given("engine")) overrides.push_back({"model.engine=" + engine_, "--engine " + engine_});
  if (command.given("seed"))
    overrides.push_back({fmt::format("training.seed={}", seed_), fmt::format("--seed {}", seed_)});
  return overrides;
}

}  // namespace unroll
