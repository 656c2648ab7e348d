// The weights that a training starts from, of another run or of an imported model (training.init_from).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "framework/parameters.h"
#include "training/files/safetensors.h"
#include "training/program/recipe/recipe_sections.h"
#include "training/report/run_description.h"

namespace unroll {

// The file that a recipe names; empty if none. Absolute, since a run may be resumed from elsewhere. Throws InputError
// if it is missing.
std::filesystem::path first_weights_file(const TrainingSection& training);

// Fills every parameter from the file, whose averaged weights count as the model's. `repeats`: a weight that the file
// may repeat, with the same matrix as `original` (a tied decoder). `of_training`: how names begin of weights that only some
// trainings have; the file may have them for nothing. Throws InputError, naming a tensor that is missing, of another shape
// (naming both), unknown to the model, or no repetition.
void load_first_weights(const SafetensorsFile& file, ParameterSet& params, const std::string& repeats = {},
                        const std::string& original = {}, const std::string& of_training = {});

// A run's figures about the file: its name, and those of `keys` (differences between the file's model and the recipe)
// that change what the weights compute but need not show in shapes.
std::vector<RunDescription::Figure> describe_first_weights(const std::filesystem::path& file,
                                                           const std::vector<DifferingKey>& keys);

}  // namespace unroll
