// A word on the command line that stands where another belongs: a series in place of a recipe, a run's folder in place
// of a model.
#pragma once

#include "training/program/cli/command.h"

namespace unroll {

// Throws InputError with what to type, if the word that the command was given is a series, a text, a recipe, a model or
// a run's folder where the command takes another of these.
void check_kind_of_word(const Command& command);

}  // namespace unroll
