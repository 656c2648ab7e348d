// The training of the pretrained forecaster: one run in a folder, like any other.
#pragma once

#include "examples/timeseries/pretrained/recipe.h"
#include "training/program/run/session.h"

namespace timeseries {

// The model's file that a finished run leaves in its folder.
inline constexpr const char* forecaster_file = "forecaster.safetensors";

// A dry run is one step of training.
void run_pretraining(const RunOptions& options, const PretrainRecipe& recipe);

}  // namespace timeseries
