// Pictures for a run's report: forecasts beside true values, and errors by step.
#pragma once

#include <span>
#include <vector>

#include "examples/timeseries/scores/scores.h"
#include "training/report/chart.h"

namespace timeseries {

// Pictures of the forecasts of `part`, whose scores `evaluation` has; none of a detector.
std::vector<Chart> pictures_of(const Recipe& recipe, const SeriesData& data, const TestPart& part,
                               const Evaluation& evaluation);

// Draws value `at` of a forecast as the chart's second series, and its interval, if there is one, as the band.
void draw_forecast(Chart& chart, double x, std::span<const double> values, std::span<const double> low,
                   std::span<const double> high, size_t at);

}  // namespace timeseries
