#include "examples/timeseries/recipe/options.h"

namespace timeseries {

const DataOption& csv_option() {
  static const DataOption option{.name = "csv",
                                 .value = "FILE",
                                 .description = "a CSV file with a header: the series",
                                 .heading = "Series and machine",
                                 .what = "series"};
  return option;
}

void add_csv_option(Command& command, std::string& csv) {
  const DataOption& option = csv_option();
  command.option(option.name, csv, option.value, option.description).otherwise("the recipe's data.file");
}

RecipeOptions recipe_options() {
  Recipe recipe;
  RecipeReader keys;
  declare_keys(keys, recipe);
  return RecipeOptions(keys);
}

}  // namespace timeseries
