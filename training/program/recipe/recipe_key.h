// One key of a recipe: the variable it stands for, and what it accepts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "training/program/recipe/toml_values.h"

namespace unroll {

// The fault of a value: "must be at least 1, got 0". Becomes an InputError where the place is known.
struct RecipeComplaint {
  std::string text;
};

// A variable whose values have names in a recipe.
struct RecipeChoice {
  std::function<std::size_t()> get;  // index into the key's words
  std::function<void(std::size_t)> set;
};

// The meaning of another value of a key to a run that is resumed.
enum class OnResume : uint8_t {
  undecided,   // the declaration does not say: a program that resumes runs says it of every key
  harmless,    // no number depends on it
  may_change,  // it trains otherwise from there on
  rescores,    // besides, validation scores of before and after do not compare
  fixed        // what was trained so far has the old value in it: the run cannot go on
};

// One declared key. The functions narrow what is accepted, or say more about it, and return the key, to be chained.
struct RecipeKey {
  using Field =
      std::variant<bool*, int*, int64_t*, uint64_t*, float*, double*, std::string*, std::vector<std::string>*,
                   std::vector<int>*, std::vector<double>*, RecipeChoice>;

  RecipeKey& at_least(double bound);                    // numbers, and elements of lists: low <= value
  RecipeKey& above(double bound);                       // low < value
  RecipeKey& at_most(double bound);                     // value <= high
  RecipeKey& below(double bound);                       // value < high
  RecipeKey& one_of(std::vector<std::string> choices);  // strings, and elements of lists
  RecipeKey& unit(std::string text);                    // "words", "steps": for the documentation
  RecipeKey& source(std::string text);                  // where the default, or the method, comes from

  // Another value in a run that is resumed: see OnResume. A condition is asked when recipes are compared; what it looks at
  // must live as long as the reader.
  using Condition = std::function<bool()>;
  RecipeKey& harmless(Condition where = {});  // where it does not hold, the key may change
  RecipeKey& may_change();
  RecipeKey& rescores();
  RecipeKey& fixed();
  // Besides: where windows begin depends on it, so in the middle of an epoch the run cannot go on.
  RecipeKey& cuts_windows(Condition where = [] { return true; });

  // Checks a value against type, range and words, and returns what stores it: nothing is stored before all of a
  // recipe is checked. Throws RecipeComplaint.
  std::function<void()> assignment(const TomlValue& value) const;

  std::string path() const { return section + "." + name; }
  std::string type() const;   // "a whole number", "true or false", "one of sgd, adam"
  std::string range() const;  // "at least 1", "in [0, 1)", ""
  std::string value() const;  // as TOML
  bool takes_string() const;
  bool takes_list() const;
  bool takes_words() const;   // a list of strings
  std::string default_value;  // as TOML
  std::string section, name, description, unit_text, source_text;
  Field field;
  std::vector<std::string> words;  // accepted ones; empty: any
  double low = 0, high = 0;
  OnResume on_resume = OnResume::undecided;
  Condition harmless_where, cuts_windows_where;
  enum class Bound : uint8_t { none, closed, open } low_bound = Bound::none, high_bound = Bound::none;
};

}  // namespace unroll
