// The metadata of a model's file, as the programs write it.
#pragma once

#include <string>
#include <vector>

#include "training/files/safetensors.h"
#include "training/program/recipe/recipe_reader.h"

namespace unroll {

// The metadata under `key` in a file of this program ("ptb"). Throws InputError if the file is another program's, or no
// program's.
const std::string& metadata_of(const SafetensorsFile& file, const std::string& program,
                               const std::string& key);

// The file's recipe, and changes of some of its keys for this machine: the engine depends on the machine that computes,
// not on the one that trained.
RecipeFile recipe_of(const SafetensorsFile& file, const std::string& program);
std::vector<Override> for_this_machine();

}  // namespace unroll
