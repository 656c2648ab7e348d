// A recipe while it is guessed: its keys so far, and what is said of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "examples/timeseries/guess/wishes.h"

namespace timeseries {

class Draft {
 public:
  // Without keys. `wishes` must outlive the draft.
  Draft(const std::filesystem::path& csv, const Wishes& wishes);

  // Sets a key to a value as recipes write it, in place of an earlier one.
  void set(const std::string& section, const std::string& key, const std::string& value);
  void set(const std::string& section, const std::string& key, int64_t value) {
    set(section, key, std::to_string(value));
  }
  void set(const std::string& section, std::initializer_list<std::pair<const char*, const char*>> keys) {
    for (const auto& [key, value] : keys) set(section, key, value);
  }
  // Reads the recipe from the keys so far, with the overrides that say how the file is read and cut. Throws InputError like
  // load_recipe.
  void load() { load_with(early_); }
  void load_whole() { load_with(wishes_); }  // with all overrides: no key is missing
  void say(const Guess& guess);  // unless the user's overrides name its key
  void note(const Guess& guess) { guessed_.guesses.push_back(guess); }
  const GuessedRecipe& guessed() const { return guessed_; }

 private:
  void load_with(const Wishes& wishes);

  const Wishes& wishes_;
  Wishes early_;  // with those overrides that are read while keys are missing
  GuessedRecipe guessed_;
  std::vector<std::pair<std::string, std::vector<std::pair<std::string, std::string>>>> sections_;
};

// The recipe of a file that was guessed, under its name. Throws InputError like load_recipe.
Recipe load_guessed(const RecipeFile& file, const Wishes& wishes);

// ["gru", "linear"], as recipes write lists
std::string toml_words(const std::vector<std::string>& words);

}  // namespace timeseries
