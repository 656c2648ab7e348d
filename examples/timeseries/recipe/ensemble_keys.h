// The section [ensemble] of a recipe: its keys, and what the words of ensemble.members stand for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "examples/timeseries/recipe/recipe.h"

namespace timeseries {

// One of ensemble.members: a baseline by its word, or a network.
struct EnsembleWord {
  std::string name;        // "ets", "cell=gru segment=2"
  std::string scope = {};  // of a network's parameters: "member2"
  double rate = 1;         // multiplies a network's learning rate
  std::shared_ptr<const Recipe> network =
      nullptr;  // the recipe of the network alone; nullptr: it is a baseline
};
// Throws InputError, naming the key and the word.
std::vector<EnsembleWord> ensemble_words(const Recipe& recipe);
// "NLinear", "DLinear", "GRU of 32 over segments of 2 rows"; of a baseline its word.
std::string name_of(const EnsembleWord& word);
// "member1" of the first: its scope, and its name in tables.
std::string name_of_member(size_t member);
// The recipes of its networks; of a recipe that is no ensemble it alone.
std::vector<Recipe> networks_of(const Recipe& recipe);
// The words of baselines that may be members.
const std::vector<std::string>& baseline_words();

void declare_ensemble_keys(RecipeReader& reader, Recipe& recipe);
// The rules between these keys and the others. Throws InputError.
void check_ensemble(const RecipeReader& reader, const Recipe& recipe);

}  // namespace timeseries
