// The options that several commands take, declared once.
#pragma once

#include <string>
#include <vector>

#include "training/program/cli/command.h"
#include "training/program/recipe/recipe_reader.h"

namespace unroll {

void add_json_option(Command& command, bool& json);
void add_watch_options(Command& command, bool& quiet, bool& profile);
// The word CHECKPOINT.
void add_checkpoint(Command& command);

// The options that give the keys of a recipe other values.
class RecipeOptions {
 public:
  // `keys`: those of the program's recipes, model.engine among them.
  explicit RecipeOptions(const RecipeReader& keys);
  struct With {
    bool seed = false, engine = true;  // --seed, --engine
    bool lists = false;                // --set takes several values
  };
  void add_to(Command& command, const With& with);
  void add_to(Command& command) { add_to(command, {}); }
  // As above, and the word RECIPE.
  void add_with_recipe(Command& command, const With& with);
  void add_with_recipe(Command& command) { add_with_recipe(command, {}); }
  // Once the command has been parsed.
  std::vector<Override> overrides(const Command& command) const;

 private:
  std::vector<std::string> engines_;
  std::vector<std::string> sets_;
  std::string engine_;
  uint64_t seed_ = 1;
};

}  // namespace unroll
