// Recipes: TOML files. A program declares each key once.
//
// A declaration binds a key to a variable, whose value at that moment is the default. From one table come the reading
// and its errors, the resolved recipe with every default spelled out, and the documentation.
//
//   RecipeReader reader;
//   reader.section("model", "The network.");
//   reader.key("hidden", recipe.hidden, "width of every LSTM layer").at_least(1);
//   reader.read(find_recipe("demo"));
//   reader.set("model.hidden=300");
#pragma once

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "framework/check.h"
#include "training/program/recipe/recipe_file.h"
#include "training/program/recipe/recipe_key.h"

namespace unroll {

// A key, by its path, that has no effect with the other keys as they are.
struct UnreadKey {
  std::string path;
  std::string readers;  // what would: "model.architecture = \"direct\""
  bool asks = false;    // its value would then do something: momentum that is not 0
  bool lost = false;    // the rules refuse its value, an option that the chosen layers lack
};
// A list of such keys.
struct UnreadKeys {
  std::vector<UnreadKey> keys;  // in no order
  // Adds the keys `paths`, unless `read`.
  void add_unless(bool read, const std::string& readers, std::initializer_list<const char*> paths,
                  bool asks = false);
  // Adds a key whose value the rules refuse.
  void add_lost(const std::string& path) { keys.push_back({.path = path, .readers = "", .lost = true}); }
  bool contains(const std::string& path) const;  // it has no effect
};

class RecipeReader {
 public:
  // Keys declared after this belong to the section. Naming a section again adds to it.
  void section(const std::string& name, const std::string& description = {});
  // Declares a key of the current section, with `field`'s value as default. Requires: `field` lives as long as the
  // reader. Throws Error if the key is declared already.
  template <class T>
  RecipeKey& key(const std::string& name, T& field, const std::string& description) {
    return add(name, &field, description);
  }
  // As above, for an enumeration: {{"mean", Reduction::mean}, {"sum-over-steps", …}}.
  template <class E>
  RecipeKey& choice(const std::string& name, E& field, std::vector<std::pair<std::string, E>> values,
                    const std::string& description);

  // Names a key that earlier versions had. In a file that such a version spelled out it is passed over where it is false, 0,
  // empty or `nothing`, a word or a number by which it asked for nothing ("*": always); else read() and set() throw InputError:
  // "'<section>.<key>' <why>". Unnamed keys of a section that is not declared are passed over.
  void gone(const std::string& section, const std::string& key, const std::string& why,
            const std::string& nothing = {});

  // Reads a recipe into the fields. Keys that it does not name keep their values. Throws InputError of one line:
  // "recipes/x.toml:7: unknown key 'model.hiden'; did you mean 'model.hidden'?". The fields are then unchanged.
  void read(const RecipeFile& file);
  // Takes "section.key=value" with a value in TOML, or a bare word. An error's message begins with `said`, the user's
  // words; if that is empty, with "--set section.key=value".
  void set(std::string_view assignment, const std::string& said = "");

  // True if a recipe or a set() named the key ("model.hidden").
  bool given(const std::string& path) const { return origins_.contains(path); }
  // True if a set() named it.
  bool overridden(const std::string& path) const { return overridden_.contains(path); }
  // True if the recipe looks like one that a run has left, of this or an earlier version: it names most of the keys, or
  // as many as the first version had. Then the user did not choose each of them.
  bool spelled_out() const { return 2 * named_ > keys_.size() || named_ >= keys_of_first_version; }
  // refuse, refuse_if: for rules between keys. Throws InputError "recipes/x.toml:7: 'model.tied' <message>".
  [[noreturn]] void refuse(const std::string& path, const std::string& message) const;
  template <class... A>
  void refuse_if(bool wrong, const std::string& path, fmt::format_string<A...> message,
                 A&&... arguments) const {
    if (wrong) refuse(path, fmt::format(message, std::forward<A>(arguments)...));
  }
  // Throws likewise if the user gave a key that has no effect. A key of `unread` counts as the user's if it asks for
  // something, if a set() named it, or if it had no effect in the recipe either (`by_itself`). Keys of a spelled-out
  // recipe are exempt. So a set() may make a recipe's own keys lose their effect. A key that a set() made `lost` gets its
  // default again; others that are lost are left to the rules.
  void refuse_unread(const UnreadKeys& unread, const UnreadKeys& by_itself);

  // The resolved recipe: every key with its value. read() of it gives the same values. With `comments`, each key's
  // description stands beside it.
  std::string toml(bool comments = false) const;
  // Tables of all keys: for the documentation.
  std::string markdown() const;
  const std::deque<RecipeKey>& keys() const { return keys_; }

 private:
  struct Section {
    std::string name, description;
  };
  RecipeKey& add(const std::string& name, RecipeKey::Field field, const std::string& description);
  std::string unknown_key(const std::string& section, const std::string& name) const;
  RecipeKey* find(const std::string& path);

  struct Gone {
    std::string section, key, why, nothing;
    bool is_asked_for(const TomlValue& value) const;
  };
  // The key of that name, or without one the first one of the section.
  const Gone* find_gone(const std::string& section, const std::optional<std::string>& name = {}) const;

  std::vector<Section> sections_;
  std::vector<Gone> gone_;
  std::string current_;
  std::deque<RecipeKey> keys_;                  // deque: references stay valid
  std::map<std::string, std::string> origins_;  // by path: "recipes/x.toml:7" of the last assignment
  std::set<std::string> overridden_;            // paths
  static constexpr std::size_t keys_of_first_version = 40;
  std::size_t named_ = 0;        // keys that were in what was read last
  std::string file_ = "recipe";  // origin of what was read last
};

// A new value for a key.
struct Override {
  std::string assignment;  // "section.key=value"
  std::string said = {};   // the user's words, if not --set and the assignment: "--seed 3"
};

// differing_keys: those whose values differ between two recipes, by path, with values as TOML, and what that means for a run
// that goes on from `before` with `after` (on_resume, cuts_windows). Throws Error if a key's declaration does not say.
struct DifferingKey {
  std::string path, before, after;
  OnResume on_resume = OnResume::may_change;
  bool cuts_windows = false;
};
std::vector<DifferingKey> differing_keys(const RecipeReader& before, const RecipeReader& after);

template <class E>
RecipeKey& RecipeReader::choice(const std::string& name, E& field,
                                std::vector<std::pair<std::string, E>> values,
                                const std::string& description) {
  std::vector<std::string> words;
  bool known = false;
  for (const auto& value : values) words.push_back(value.first), known |= value.second == field;
  require(known, "recipe: the default of '{}' is none of its values", name);
  const RecipeChoice access{[&field, values] {
                              std::size_t i = 0;
                              while (i + 1 < values.size() && values[i].second != field) ++i;
                              return i;
                            },
                            [&field, values](std::size_t i) { field = values.at(i).second; }};
  return add(name, access, description).one_of(std::move(words));
}

}  // namespace unroll
