#include "training/program/recipe/recipe_file.h"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "data/text_file.h"
#include "framework/check.h"
#include "framework/nearest.h"
#include "framework/one_line.h"
#include "training/files/run_files.h"
#include "training/program/recipe/bundled_recipes.h"

namespace unroll {

std::vector<std::string> bundled_recipes(std::string_view program) {
  std::vector<std::string> names;
  for (const BundledRecipe& recipe : bundled_recipe_texts())
    if (program.empty() || recipe.program == program) names.emplace_back(recipe.name);
  return names;
}

RecipeFile find_recipe(std::string_view name_or_path, std::string_view program) {
  const std::string name(name_or_path);
  if (name.find('/') == std::string::npos && !name.ends_with(".toml")) {
    for (const BundledRecipe& recipe : bundled_recipe_texts()) {
      if (recipe.name == name && (program.empty() || recipe.program == program))
        return {name, "recipes/" + name + ".toml", std::string(recipe.text)};
    }
    const auto names = bundled_recipes(program);
    for (const BundledRecipe& recipe : bundled_recipe_texts())
      if (recipe.name == name)
        throw InputError(fmt::format("recipe '{}' is one of {}, not of {}", name, recipe.program, program));
    throw InputError(fmt::format("there is no recipe '{}'; bundled are {}; a file of yours ends in .toml{}",
                                 one_line(name), fmt::join(names, ", "), did_you_mean(nearest(name, names))));
  }
  std::error_code error;
  const auto status = std::filesystem::status(name, error);
  require_input(status.type() != std::filesystem::file_type::not_found, "{}: there is no such recipe", name);
  require_input(!std::filesystem::is_directory(status), "{}: a folder, not a recipe", name);
  std::string text = read_file(name, most_bytes_of_recipe);
  return {std::filesystem::path(name).stem().string(), name, std::move(text)};
}

}  // namespace unroll
