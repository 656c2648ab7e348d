// The size of a guessed ensemble: what a budget of time may cut.
#pragma once

#include <string>
#include <vector>

#include "examples/timeseries/guess/wishes.h"

namespace timeseries {

struct Size {
  std::vector<std::string> networks;  // each of "gru", "linear", "dlinear"
  int folds = 4, epochs = 0;
  bool ets = true;
};
Size size_of(const GuessedRecipe& guessed);

// The members of an ensemble of this size, as recipes write them: its networks, and the baselines that the keys of [data] ask for.
std::vector<std::string> members_of(const Size& size, const Recipe& recipe);
// The recipe in this size, unless overrides say otherwise. Throws InputError like load_recipe.
GuessedRecipe with_size(const GuessedRecipe& guessed, const Wishes& wishes, const Size& size);

}  // namespace timeseries
