// A training that several processes share, as its recipe and its first lines tell it.
#pragma once

#include <cstdint>

#include "training/program/recipe/recipe_sections.h"

namespace unroll {

// Before the data are read. Throws InputError where the processes that mpirun started cannot share the recipe's shards.
void check_processes(const TrainingSection& training);

// For `explain`: who can share a step, the bytes of that, and what part of a step they take on some networks. `operations`:
// of a step's products, forward and back.
void print_processes(const TrainingSection& training, const ParameterSet& params, double operations);

}  // namespace unroll
