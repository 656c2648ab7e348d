// The metadata of a model's file, as the programs write it.
#pragma once

#include <string>
#include <vector>

#include "training/files/safetensors.h"
#include "training/program/recipe/recipe_reader.h"

namespace unroll {

// The metadata under `key` in a file of this program's ("ptb"). Throws InputError where it is another program's, or
// none's.
const std::string& metadata_of(const SafetensorsFile& file, const std::string& program,
                               const std::string& key);

// The recipe in it, and what takes the place of some of its keys: which engine computes is a matter of the machine that
// does, not of the one that trained.
RecipeFile recipe_of(const SafetensorsFile& file, const std::string& program);
std::vector<Override> for_this_machine();

}  // namespace unroll
