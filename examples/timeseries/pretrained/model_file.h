// A pretrained forecaster's file: weights in 16 bits, and the recipe they were trained by.
#pragma once

#include <filesystem>
#include <memory>

#include "examples/timeseries/pretrained/network.h"
#include "examples/timeseries/pretrained/recipe.h"
#include "training/files/safetensors.h"

namespace timeseries {

void write_forecaster(const std::filesystem::path& path, const PretrainRecipe& recipe,
                      const ParameterSet& params);
// Throws InputError, with the file's name: it is another program's or no forecaster's, or damaged.
std::unique_ptr<PretrainedNetwork> read_forecaster(const SafetensorsFile& file);

}  // namespace timeseries
