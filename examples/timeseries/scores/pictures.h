// What a run's report shows of its test: forecasts beside what came, errors by step; or how a detector's
// probabilities keep what they say.
#pragma once

#include <vector>

#include "examples/timeseries/scores/scores.h"
#include "training/report/chart.h"

namespace timeseries {

// Of the model, on a part that `evaluation` is of.
std::vector<Chart> pictures_of(const Recipe& recipe, const SeriesData& data, TestPart& part,
                               const SeriesModel& model, const Evaluation& evaluation);

}  // namespace timeseries
