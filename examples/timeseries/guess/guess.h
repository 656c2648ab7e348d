// A recipe for a series that came without one: every choice is a guess from the file, and is said.
#pragma once

#include <filesystem>

#include "examples/timeseries/guess/wishes.h"

namespace timeseries {

// How the file is read, its season, steps and baselines; and a network, if that is wished for. Throws InputError: the file cannot be read, a column is not there or holds
// no numbers, too few rows; where a key says how to read it, the message names the option.
GuessedRecipe guess_recipe(const std::filesystem::path& csv, const Wishes& wishes);

}  // namespace timeseries
