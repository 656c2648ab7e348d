// Which values of two keys do not go together in a program's recipes, and which value needs another key's, as recorded in
// tests/recorded. To record anew: UNROLL_RECORD=1 tests/<suite>, and read the difference.
#pragma once

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/program.h"
#include "tests/support.h"
#include "training/program/recipe/recipe_reader.h"

namespace recipe_pairs {

// Values to try for a key, other than its default.
inline std::vector<std::string> values_of(const unroll::RecipeKey& key) {
  if (key.type() == "true or false") return {key.default_value == "true" ? "false" : "true"};
  std::vector<std::string> values;
  for (const std::string& word : key.words)
    if (fmt::format("\"{}\"", word) != key.default_value)
      values.push_back(key.takes_list() ? fmt::format("[\"{}\"]", word) : fmt::format("\"{}\"", word));
  if (!values.empty()) return values;
  if (key.takes_words()) return {"[\"a\"]", "[\"a\", \"b\"]"};
  if (key.takes_list()) return {"[1, 2]", "[0.2, 0.6]", "[1, 1, 1, 1]", "[0.2, 0.5, 0.7]"};
  if (key.takes_string()) return {"\"a\"", "\",\"", "\".\"", "\"2020-01-01\""};
  return {"3", "0.25", "1", "0"};
}

// The pairs, a line a value: "a.b=1 against: c.d=2, …" are refused together though each alone is read; "needs: …" is read
// with one of these, and not alone. error(assignments): of a recipe with these alone; "": none.
template <class Error>
std::string interplay(const std::vector<unroll::RecipeKey>& keys, const Error& error) {
  struct Value {
    std::string path, assignment;
    bool is_read = false;
  };
  constexpr int most = 1;  // values of a key that has no words
  std::vector<Value> values;
  for (const unroll::RecipeKey& key : keys) {
    int taken = 0;
    for (const std::string& value : values_of(key)) {
      if (value == key.default_value) continue;
      const std::string assignment = fmt::format("{}={}", key.path(), value), said = error({assignment});
      // Refused whatever the other keys are: not of its type or in its range.
      const bool is_value = said.find("must be at") == said.npos && said.find("must be above") == said.npos &&
                            said.find("must be below") == said.npos && said.find("must be in") == said.npos &&
                            said.find("expects") == said.npos;
      if (!is_value || (key.words.empty() && taken == most)) continue;
      values.push_back({key.path(), assignment, said.empty()}), ++taken;
    }
  }
  std::vector<std::string> against(values.size()), needs(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      if (values[i].path == values[j].path) continue;
      const bool is_read = error({values[j].assignment, values[i].assignment}).empty();
      if (!is_read && values[i].is_read && values[j].is_read) against[j] += ' ' + values[i].assignment;
      if (is_read && !values[i].is_read) needs[i] += ' ' + values[j].assignment;
      if (is_read && !values[j].is_read) needs[j] += ' ' + values[i].assignment;
    }
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!against[i].empty()) text += values[i].assignment + " against:" + against[i] + "\n";
    if (!values[i].is_read) text += values[i].assignment + " needs:" + needs[i] + "\n";
  }
  return text;
}

inline void check_recorded(const std::string& name, const std::string& found) {
  const std::string path = project_root() / "tests/recorded" / name;
  if (std::getenv("UNROLL_RECORD")) std::ofstream(path) << found;
  const std::vector<std::string> was = lines_of(read_text(path)), now = lines_of(found);
  const std::set<std::string> known(was.begin(), was.end()), here(now.begin(), now.end());
  for (const std::string& line : was)
    CHECK_MESSAGE(here.contains(line), "recorded, and no longer so: ", line);
  for (const std::string& line : now) CHECK_MESSAGE(known.contains(line), "not recorded: ", line);
}

}  // namespace recipe_pairs
