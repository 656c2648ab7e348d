// A program's recipes as a struct, whatever its keys: read, written and compared.
//
//   struct Recipe { std::string name; … };
//   constexpr RecipeForm<Recipe> form{declare_keys, check, unread_keys};
//   const Recipe recipe = form.load(find_recipe("demo", "ptb"), {{"model.hidden=300", "--set"}});
#pragma once

#include <string>
#include <vector>

#include "training/program/recipe/recipe_reader.h"

namespace unroll {

template <class Recipe>
struct RecipeForm {
  void (*declare)(RecipeReader& reader, Recipe& recipe);  // the table of keys over its fields
  void (*check)(const RecipeReader& reader,
                const Recipe& recipe);  // the rules between keys; throws InputError
  // Keys that have no effect: refused if the user set them. Also called for a recipe that breaks the rules.
  UnreadKeys (*unread)(const Recipe& recipe) = [](const Recipe&) { return UnreadKeys{}; };

  // Throws InputError.
  Recipe load(const RecipeFile& file, const std::vector<Override>& overrides = {}) const {
    Recipe recipe;
    recipe.name = file.name;
    RecipeReader reader;
    declare(reader, recipe);
    reader.read(file);
    const UnreadKeys by_itself = unread(recipe);
    for (const auto& [assignment, said] : overrides) reader.set(assignment, said);
    reader.refuse_unread(unread(recipe), by_itself);
    check(reader, recipe);
    return recipe;
  }
  // Every key with its value.
  std::string resolved(Recipe recipe) const {
    RecipeReader reader;
    declare(reader, recipe);
    return reader.toml();
  }
  // The keys whose values differ.
  std::vector<DifferingKey> differing_keys(Recipe before, Recipe after) const {
    RecipeReader old_keys, young_keys;
    declare(old_keys, before);
    declare(young_keys, after);
    return unroll::differing_keys(old_keys, young_keys);
  }
};

}  // namespace unroll
