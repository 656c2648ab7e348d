// Detects a word on the command line that belongs elsewhere: a series in place of a recipe, a run's folder in place of
// a model.
#pragma once

#include "training/program/cli/command.h"

namespace unroll {

// Throws InputError, saying what to type, if the command's word is a series, a text, a recipe, a model or a run's
// folder, but the command takes another of these.
void check_kind_of_word(const Command& command);

}  // namespace unroll
