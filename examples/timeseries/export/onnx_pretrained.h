// The pretrained forecaster as ONNX.
#pragma once

#include <filesystem>

#include "examples/timeseries/pretrained/network.h"

namespace timeseries {

// Inputs `context` [segments, batch, context_width], `ahead` [segments ahead, batch, ahead_width] and `base` [segments ahead, batch,
// segment_rows] as ForecastBatch fills them from a series, whose level and scale stay outside of the graph. Output `quantiles`
// [levels, segments ahead, batch, segment_rows] in units of that scale. Throws InputError as export/onnx.h.
void write_onnx(const std::filesystem::path& path, const PretrainedNetwork& network);

}  // namespace timeseries
