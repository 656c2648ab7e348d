// A user's wishes for a series without a recipe, and the guesses that were made.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "examples/timeseries/recipe/recipe.h"

namespace timeseries {

using namespace unroll;

// The user's own words.
struct Wishes {
  std::vector<std::string> columns = {};  // to forecast; none: every column of numbers
  int steps = 0;                          // 0: guessed
  double train = 1, valid = 0;            // shares of the rows; the rest are the test
  bool network = false;                   // one is to be trained; else the file is forecast by baselines
  std::vector<Override> overrides = {};   // which come before any guess
};

// Whether an override names the key.
bool says(const Wishes& wishes, const std::string& key);
// Whether one names the season.
bool tells_season(const Wishes& wishes);

struct Guess {
  std::string name, what;  // "season", "12 rows"
  std::string why;         // "a year of 12 rows: strength 0.82"
  std::string option;      // that says otherwise: "--set data.period=N"
};

struct GuessedRecipe {
  Recipe recipe;
  std::vector<Guess> guesses;
};

// A recipe for a series without one: how the file is read, its season, steps and baselines; and a network, if that is wished for.
// Throws InputError: the file cannot be read, a column is not there or holds no numbers, too few rows; where
// a key says how to read it, the message names the option.
GuessedRecipe guess_recipe(const std::filesystem::path& csv, const Wishes& wishes);

}  // namespace timeseries
