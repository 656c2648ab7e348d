// A program's pages about itself, made from the declarations of its commands.
#pragma once

#include <string>

#include "training/program/cli/program.h"

namespace unroll {

// Columns of the terminal that standard output is, at most 100; 80 elsewhere.
int page_columns();

// "--words N" and what it is for, the default with it.
Entry as_entry(const Option& option);

// The page of --help: of one command, of the whole program.
std::string help_page(const Command& command, int columns);
std::string help_page(const Program& program, int columns);
// The manual page, section 1, for man(1).
std::string manual_page(const Program& program);
// A script for bash to source: completes commands, options, their values, recipes and keys of recipes.
std::string bash_completion(const Program& program);

}  // namespace unroll
