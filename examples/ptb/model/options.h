// What the command lines of several commands have in common, declared once.
#pragma once

#include "examples/ptb/model/recipe.h"
#include "training/program/run/run_commands.h"

namespace ptb {

// --data, and its heading.
const DataOption& text_option();
void add_data_option(Command& command, std::string& data);
// --set and what comes before it, for ptb's keys.
RecipeOptions recipe_options();

}  // namespace ptb
