// Requirements on the recipes of both programs.
#pragma once

#include <algorithm>
#include <string>

#include "tests/program.h"
#include "tests/support.h"
#include "training/program/recipe/recipe_reader.h"

// The page has each row of the table of keys as the declarations make it, and no other row that begins with a key; of a page
// with other tables, no other of four cells.
template <class Declare, class Recipe>
void check_documented(const std::string& page, Declare declare, Recipe recipe, bool has_other_tables,
                      const std::string& page_of_shared = "") {
  unroll::RecipeReader reader;
  declare(reader, recipe);
  const std::string documentation = read_text(project_root() / page), table = reader.markdown(),
                    shared = page_of_shared.empty() ? "" : read_text(project_root() / page_of_shared);
  const auto stands_in = [](const std::string& text, const std::string& row) {
    return text.find(row + "\n") != std::string::npos;
  };
  for (const std::string& row : lines_of(table)) {
    INFO(page,
         " lacks this line of the table that the declarations make, or the name of a key that it shares");
    if (!row.starts_with("| `") || !stands_in(shared, row)) {
      CHECK((stands_in(documentation, row) ? "" : row) == "");
    } else {
      const std::string name = row.substr(2, row.find('`', 3) - 1);
      CHECK((documentation.find(name) != std::string::npos ? "" : name) == "");
      CHECK_MESSAGE(!stands_in(documentation, row), page_of_shared, " has this line, too: ", row);
    }
  }
  for (const std::string& row : lines_of(documentation)) {
    INFO(page, " describes what is declared otherwise, or not at all");
    const bool of_a_key = row.starts_with("| `") && (!has_other_tables || std::ranges::count(row, '|') == 5);
    CHECK((!of_a_key || table.find(row + "\n") != std::string::npos ? "" : row) == "");
  }
}

// The keys of which a changed value means this to a run that is resumed (RecipeKey::fixed and the like), in order.
template <class Declare, class Recipe>
std::string keys_that_are(unroll::OnResume meaning, Declare declare, Recipe recipe) {
  unroll::RecipeReader reader;
  declare(reader, recipe);
  std::string result;
  for (const unroll::RecipeKey& key : reader.keys())
    if (key.on_resume == meaning) result += (result.empty() ? "" : " ") + key.path();
  return result;
}
