// A model of series as ONNX.
#pragma once

#include <filesystem>

#include "examples/timeseries/model/saved_model.h"

namespace timeseries {

// Input `x` [rows, batch, channels] in the units of the file that trained, 64 bits: the window's rows, and those to forecast behind
// them if the model knows some of their columns; then other columns may hold anything there. Scaling and normalization are in the
// graph. A calendar's columns are numbers that the program computes of times (docs/timeseries.md). Another input is `series` [batch]
// if it was trained on several, by their places in its file. Output: `forecast` [outputs, horizon, batch, targets] in the same
// units, by quantile, within BlankModel::bounds; of a detector `probability` [batch]. Intervals are not in it. The file's metadata have
// the recipe, channels, bounds and series.
// Throws InputError as export/onnx.h, and for several series of which each has a transform of its own.
void write_onnx(const std::filesystem::path& path, const SavedModel& saved);

}  // namespace timeseries
