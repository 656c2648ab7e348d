// What the recipes of both programs are held to.
#pragma once

#include <algorithm>
#include <string>

#include "tests/program.h"
#include "tests/support.h"
#include "training/recipe/recipe_reader.h"

// The page has each row of the table of keys as the declarations make it, and no other row that begins with a key; of a page
// with other tables, no other of four cells.
template <class Declare, class Recipe>
void check_documented(const std::string& page, Declare declare, Recipe recipe, bool has_other_tables) {
  unroll::RecipeReader reader;
  declare(reader, recipe);
  const std::string documentation = read_text(project_root() / page), table = reader.markdown();
  for (const std::string& row : lines_of(table)) {
    INFO(page, " lacks this line of the table that the declarations make");
    CHECK((documentation.find(row + "\n") != std::string::npos ? "" : row) == "");
  }
  for (const std::string& row : lines_of(documentation)) {
    INFO(page, " describes what is declared otherwise, or not at all");
    const bool of_a_key = row.starts_with("| `") && (!has_other_tables || std::ranges::count(row, '|') == 5);
    CHECK((!of_a_key || table.find(row + "\n") != std::string::npos ? "" : row) == "");
  }
}

// The keys of which nobody has decided what another value means to a run that is resumed (RecipeKey::fixed and the like).
template <class Declare, class Recipe>
Words undecided_keys(Declare declare, Recipe recipe) {
  unroll::RecipeReader reader;
  declare(reader, recipe);
  Words result;
  for (const unroll::RecipeKey& key : reader.keys())
    if (key.on_resume == unroll::OnResume::undecided) result.push_back(key.path());
  return result;
}
