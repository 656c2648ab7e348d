// The section [ensemble] of a recipe: the meaning of the words in ensemble.members, and the rules.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "examples/timeseries/recipe/recipe.h"

namespace timeseries {

// A member of ensemble.members: a network, or a baseline by its word.
struct EnsembleWord {
  std::string name;        // "ets", "cell=gru segment=2"
  std::string scope = {};  // prefix of a network's parameters: "member2"
  double rate = 1;         // multiplies a network's learning rate
  std::shared_ptr<const Recipe> network = nullptr;  // its recipe alone; nullptr: it is a baseline
};
// The members of a recipe. Throws InputError, naming the key and the word.
std::vector<EnsembleWord> ensemble_words(const Recipe& recipe);
// The member in words: "NLinear", "DLinear", "GRU of 32 over segments of 2 rows"; a baseline's own word.
std::string name_of(const EnsembleWord& word);
// The member's scope and name in tables: "member1" is the first.
std::string name_of_member(size_t member);

// Checks the rules between the keys of [ensemble] and others. Throws InputError.
void check_ensemble(const RecipeReader& reader, const Recipe& recipe);

}  // namespace timeseries
