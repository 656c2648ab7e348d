// The weights of another run, or of an imported model, that a training begins with (training.init_from).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "framework/parameters.h"
#include "training/files/safetensors.h"
#include "training/program/recipe/recipe_sections.h"
#include "training/report/run_description.h"

namespace unroll {

// The file that a recipe names, absolute, since a run may be resumed from elsewhere; empty: none. Throws InputError if it is
// missing.
std::filesystem::path first_weights_file(const TrainingSection& training);

// Fills every parameter from the file, where averaged weights are the model's. `repeats` is a weight that may stand in the
// file besides, as the same matrix as `original`: a tied decoder. Throws InputError naming a tensor: it is missing, of another
// shape (with both), in the file and not in the model, or not a repetition.
void load_first_weights(const SafetensorsFile& file, ParameterSet& params, const std::string& repeats = {},
                        const std::string& original = {});

// What a run says of it: the file, and those of `keys` (of the model in it, and of the recipe) that shapes need not tell: they
// change what its weights compute.
std::vector<RunDescription::Figure> describe_first_weights(const std::filesystem::path& file,
                                                           const std::vector<DifferingKey>& keys);

}  // namespace unroll
