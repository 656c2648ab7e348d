// A training shared by several processes: checks of its recipe, and lines about it.
#pragma once

#include <cstdint>

#include "training/program/recipe/recipe_sections.h"

namespace unroll {

// Call before the data are read. Throws InputError if mpirun's processes cannot share the recipe's shards.
void check_processes(const TrainingSection& training);

// For `explain`: prints who can share a step, the bytes exchanged, and the share of a step that this takes on some
// networks. `operations`: of a step's products, forward and back.
void print_processes(const TrainingSection& training, const ParameterSet& params, double operations);

}  // namespace unroll
