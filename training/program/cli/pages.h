// A program's help pages, made from the declarations of its commands.
#pragma once

#include <string>

#include "training/program/cli/program.h"

namespace unroll {

// Columns of standard output's terminal, at most 100; 80 if it is no terminal.
int page_columns();

// "--words N", and its description with the default.
Entry as_entry(const Option& option);

// The page of --help, for one command or for the whole program.
std::string help_page(const Command& command, int columns);
std::string help_page(const Program& program, int columns);
// The manual page, section 1, for man(1).
std::string manual_page(const Program& program);
// A script for bash to source. Completes commands, options, their values, recipes and keys of recipes.
std::string bash_completion(const Program& program);

}  // namespace unroll
