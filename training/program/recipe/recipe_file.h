// Finds recipes: the bundled ones by their names, others by their paths.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace unroll {

// A recipe's text and names.
struct RecipeFile {
  std::string name;    // "demo": for the name of a run
  std::string origin;  // "recipes/demo.toml": for messages
  std::string text;
};

// Finds a recipe by its path (anything with a '/' or ending in ".toml") or by its name among the bundled ones; if
// `program` is given ("ptb"), among those for it. Throws InputError if there is no such file or name; the message lists
// the names.
RecipeFile find_recipe(std::string_view name_or_path, std::string_view program = {});
// Names of the bundled recipes, sorted; if `program` is given, only those for it.
std::vector<std::string> bundled_recipes(std::string_view program = {});

}  // namespace unroll
