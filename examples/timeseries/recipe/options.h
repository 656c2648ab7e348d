// Options that several commands share, declared once.
#pragma once

#include "examples/timeseries/recipe/recipe.h"
#include "training/program/run/run_commands.h"

namespace timeseries {

inline const DataOption& csv_option() {
  static const DataOption option{.name = "csv",
                                 .value = "FILE",
                                 .description = "a CSV file with a header: the series",
                                 .heading = "Series and machine",
                                 .what = "series"};
  return option;
}
inline void add_csv_option(Command& command, std::string& csv) {
  const DataOption& option = csv_option();
  command.option(option.name, csv, option.value, option.description).otherwise("the recipe's data.file");
}
// --set and its relatives for these recipes' keys.
inline RecipeOptions recipe_options() {
  Recipe recipe;
  RecipeReader keys;
  declare_keys(keys, recipe);
  return RecipeOptions(keys);
}

}  // namespace timeseries
