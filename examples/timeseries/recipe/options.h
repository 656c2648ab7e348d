// Options that several commands share, declared once.
#pragma once

#include "examples/timeseries/recipe/recipe.h"
#include "training/program/run/run_commands.h"

namespace timeseries {

const DataOption& csv_option();
void add_csv_option(Command& command, std::string& csv);
// --set and its relatives for these recipes' keys.
RecipeOptions recipe_options();

}  // namespace timeseries
