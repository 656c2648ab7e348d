// A model of series as a C header.
#pragma once

#include <filesystem>

#include "examples/timeseries/model/saved_model.h"
#include "examples/timeseries/pretrained/network.h"
#include "export/step_plan.h"

namespace timeseries {

// The step of a model: a window to its forecast. Input `x` [rows, channels], double, in the units of the file that trained: the
// window's rows, and those to forecast behind them if the model knows some of their columns; other columns may hold anything
// there. Scaling and normalization are in the step. A calendar's columns are numbers that the program computes of times
// (docs/timeseries.md). Another input is `series`, a place in its file, if it was trained on several. Output `forecast`
// [outputs, horizon, targets], double, in the same units, by quantile, within BlankModel::bounds; of a detector `probability`.
// Intervals are not in it. Throws Error as StepBuilder, and InputError if each of several series has a transform of its own.
StepPlan step_plan(const SavedModel& saved);
// The pretrained forecaster, whose numbers ForecastBatch takes from a series, and scales: `segments` of `context` [segments,
// context_width], then `ahead` and `base` of most_ahead rows. Output `quantiles` [levels, most_ahead] in units of that scale.
StepPlan step_plan(const PretrainedNetwork& network);

// Write these as C headers, whose names begin as the file's.
void write_c(const std::filesystem::path& path, const SavedModel& saved, int bits);
void write_c(const std::filesystem::path& path, const PretrainedNetwork& network, int bits);

}  // namespace timeseries
