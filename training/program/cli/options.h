// Options shared by several commands, declared once.
#pragma once

#include <string>
#include <vector>

#include "training/program/cli/command.h"
#include "training/program/recipe/recipe_reader.h"

namespace unroll {

void add_json_option(Command& command, bool& json);
void add_watch_options(Command& command, bool& quiet, bool& profile);
// Declares the word CHECKPOINT.
void add_checkpoint(Command& command);

// The options that change keys of a recipe.
class RecipeOptions {
 public:
  // `keys`: the keys of the program's recipes. Requires: model.engine is among them.
  explicit RecipeOptions(const RecipeReader& keys);
  struct With {
    bool seed = false, engine = true;  // --seed, --engine
    bool lists = false;                // --set takes several values
  };
  void add_to(Command& command, const With& with);
  void add_to(Command& command) { add_to(command, {}); }
  // As above, and declares the word RECIPE.
  void add_with_recipe(Command& command, const With& with);
  void add_with_recipe(Command& command) { add_with_recipe(command, {}); }
  // Requires: the command has been parsed.
  std::vector<Override> overrides(const Command& command) const;

 private:
  std::vector<std::string> engines_;
  std::vector<std::string> sets_;
  std::string engine_;
  uint64_t seed_ = 1;
};

}  // namespace unroll
