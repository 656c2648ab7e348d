// Scores of several series in one file, by series, and of baselines fitted to each series.
#pragma once

#include "examples/timeseries/data/series_data.h"
#include "examples/timeseries/scores/evaluation.h"

namespace timeseries {

// Adds baselines fitted to each series' own training rows, and scored on that series' windows, without intervals. A
// baseline that does not suit every series with windows is left out, and named.
void add_forecasts_of_each(const Recipe& recipe, const SeriesData& data, const TestPart& part,
                           Evaluation& evaluation);

// A method's errors by series name; `errors` turns them into JSON.
nlohmann::ordered_json json_by_series(const Evaluation& evaluation, const ForecastRow& row,
                                      nlohmann::ordered_json (*errors)(const ForecastErrors&));

}  // namespace timeseries
