// Pictures for a run's report: forecasts beside true values, errors by step, or a detector's calibration.
#pragma once

#include <vector>

#include "examples/timeseries/scores/scores.h"
#include "training/report/chart.h"

namespace timeseries {

// Pictures of the model on `part`, whose scores `evaluation` has.
std::vector<Chart> pictures_of(const Recipe& recipe, const SeriesData& data, TestPart& part,
                               const SeriesModel& model, const Evaluation& evaluation);

}  // namespace timeseries
