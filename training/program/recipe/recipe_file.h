// Finds recipes: the bundled ones by their names, others by their paths.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace unroll {

// The text of a recipe, and what to call it.
struct RecipeFile {
  std::string name;    // "demo": for the name of a run
  std::string origin;  // "recipes/demo.toml": for messages
  std::string text;
};

// A path to a file (anything with a '/' or ending in ".toml"), or the bare name of a bundled recipe; where a
// program is named ("ptb"), of one for it. Throws InputError: no such file, or no such name, with the names
// there are.
RecipeFile find_recipe(std::string_view name_or_path, std::string_view program = {});
// Names of the recipes that are compiled in, sorted; where a program is named, of those for it.
std::vector<std::string> bundled_recipes(std::string_view program = {});

}  // namespace unroll
