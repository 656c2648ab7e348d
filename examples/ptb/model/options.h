// Options that several commands share.
#pragma once

#include "examples/ptb/model/recipe.h"
#include "training/program/run/run_commands.h"

namespace ptb {

// --data, and its heading.
const DataOption& text_option();
void add_data_option(Command& command, std::string& data);
// --set for ptb's keys, with the options before it.
RecipeOptions recipe_options();

}  // namespace ptb
