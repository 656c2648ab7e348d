// The options that several commands take, declared once.
#pragma once

#include "examples/common/command.h"
#include "recipe.h"

namespace ptb {

void add_data_option(Command& command, std::string& data);
void add_threads_option(Command& command, int& threads);
void add_json_option(Command& command, bool& json);
void add_watch_options(Command& command, bool& quiet, bool& profile);
// The word CHECKPOINT.
void add_checkpoint(Command& command);

// The options that give the keys of a recipe other values.
class RecipeOptions {
 public:
  // `with_seed`: --seed too.
  void add_to(Command& command, bool with_seed = false);
  // The same and the word RECIPE.
  void add_with_recipe(Command& command, bool with_seed = false);
  // Once the command has been parsed. Throws InputError.
  Recipe load(const Command& command) const { return load_recipe(command.positional(), overrides(command)); }
  std::vector<Override> overrides(const Command& command) const;

 private:
  std::vector<std::string> sets_;
  std::string engine_;
  uint64_t seed_ = 1;
};

}  // namespace ptb
