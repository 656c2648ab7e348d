// One key of a recipe: its variable, and the values it accepts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "training/program/recipe/toml_values.h"

namespace unroll {

// A value's fault: "must be at least 1, got 0". Becomes an InputError once the place is known.
struct RecipeComplaint {
  std::string text;  // what must hold, and what was given
};

// A variable whose values have names in a recipe.
struct RecipeChoice {
  std::function<std::size_t()> get;      // index into the key's words
  std::function<void(std::size_t)> set;  // likewise
};

// How a changed key affects a run that is resumed.
enum class OnResume : uint8_t {
  undecided,   // the declaration does not say: a program that resumes runs says it of every key
  harmless,    // no number depends on it
  may_change,  // it trains otherwise from there on
  rescores,    // besides, validation scores of before and after do not compare
  fixed        // what was trained so far has the old value in it: the run cannot go on
};

// One declared key of a Field. Its functions restrict it (low_bound, high_bound: Bound) or describe it, and return it.
struct RecipeKey {
  using Field =
      std::variant<bool*, int*, int64_t*, uint64_t*, float*, double*, std::string*, std::vector<std::string>*,
                   std::vector<int>*, std::vector<double>*, RecipeChoice>;

  RecipeKey& at_least(double bound);                    // numbers, and elements of lists: low <= value
  RecipeKey& above(double bound);                       // low < value
  RecipeKey& at_most(double bound);                     // value <= high
  RecipeKey& below(double bound);                       // value < high
  RecipeKey& one_of(std::vector<std::string> choices);  // strings, and elements of lists
  RecipeKey& gone(std::string word, std::string why);   // a word that earlier versions had; refused with the reason
  RecipeKey& unit(std::string text);                    // "words", "steps": for the documentation
  RecipeKey& source(std::string text);                  // the source of the default, or of the method

  // The meaning of a changed value for a resumed run: see OnResume. A condition is asked when recipes are compared.
  // Requires: its references live as long as the reader.
  using Condition = std::function<bool()>;
  RecipeKey& harmless(Condition where = {});  // if it does not hold, the key may change
  RecipeKey& may_change();                    // OnResume::may_change
  RecipeKey& rescores();                      // OnResume::rescores
  RecipeKey& fixed();                         // OnResume::fixed
  // Besides: windows begin elsewhere if the key changes, so the run cannot go on in the middle of an epoch.
  RecipeKey& cuts_windows(Condition where = [] { return true; });

  // Checks a value's type, range and words. Returns a function that stores it, so that nothing is stored before the
  // whole recipe is checked. Throws RecipeComplaint.
  std::function<void()> assignment(const TomlValue& value) const;

  std::string path() const { return section + "." + name; }  // "model.hidden"
  std::string type() const;   // "a whole number", "true or false", "one of sgd, adam"
  std::string range() const;  // "at least 1", "in [0, 1)", ""
  std::string value() const;  // as TOML
  bool takes_string() const;  // its variable is a string
  bool takes_list() const;    // its variable is a list
  bool takes_words() const;   // a list of strings
  std::string default_value;  // as TOML
  std::string section, name, description, unit_text, source_text;  // as declared
  Field field;                                                     // the variable
  std::vector<std::string> words;                                  // accepted ones; empty: any
  std::vector<std::pair<std::string, std::string>> gone_words = {};  // of earlier versions, and why
  double low = 0, high = 0;                      // bounds, where low_bound and high_bound say so
  OnResume on_resume = OnResume::undecided;      // as harmless(), fixed(), … set it
  Condition harmless_where, cuts_windows_where;  // asked when recipes are compared
  enum class Bound : uint8_t { none, closed, open } low_bound = Bound::none, high_bound = Bound::none;
};

}  // namespace unroll
