// A recipe for a series that came without one: every choice is a guess from the file, and is said.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "examples/timeseries/guess/wishes.h"
#include "examples/timeseries/recipe/recipe.h"

namespace timeseries {

struct GuessedRecipe {
  RecipeFile file;  // its text holds the guesses
  Recipe recipe;    // with the overrides
  std::vector<Guess> guesses;
};

// An ensemble of networks and baselines for the file. Throws InputError: the file cannot be read, a column is not there or holds
// no numbers, too few rows; where a key says how to read it, the message names the option.
GuessedRecipe guess_recipe(const std::filesystem::path& csv, const Wishes& wishes);

// The text of a recipe in which these are the ensemble's networks (each of "gru", "linear", "dlinear"), and so many folds and
// epochs.
struct Size {
  std::vector<std::string> networks;
  int folds = 4, epochs = 0;
  bool ets = true;
};
// Of that size. Throws InputError as guess_recipe.
GuessedRecipe with_size(const GuessedRecipe& guessed, const Wishes& wishes, const Size& size);
Size size_of(const GuessedRecipe& guessed);

}  // namespace timeseries
