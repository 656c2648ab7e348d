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

// Which keys may change the numbers of a resumed run is decided for each key: a new one that is in no list of these tests has
// to say what it means (RecipeKey::on_resume), or be added to one.
template <class Declare, class Recipe>
Words keys_that_go_on(Declare declare, Recipe recipe) {
  unroll::RecipeReader reader;
  declare(reader, recipe);
  Words result;
  for (const unroll::RecipeKey& key : reader.keys())
    if (key.on_resume == unroll::OnResume::goes_on) result.push_back(key.path());
  return result;
}
inline const Words keys_of_optimizer_and_schedule = {
    "optimizer.learning_rate", "optimizer.momentum", "optimizer.nesterov",     "optimizer.beta1",
    "optimizer.beta2",         "optimizer.epsilon",  "optimizer.weight_decay", "optimizer.non_monotone",
    "schedule.kind",           "schedule.after",     "schedule.factor",        "schedule.warmup",
    "schedule.minimum"};
