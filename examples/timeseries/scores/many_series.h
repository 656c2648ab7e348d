// Scores of several series in one file: of each by itself, and of baselines that are fitted to each by itself.
#pragma once

#include <optional>
#include <vector>

#include "examples/timeseries/data/series_data.h"
#include "examples/timeseries/scores/evaluation.h"
#include "training/report/run_description.h"

namespace timeseries {

// Each baseline is fitted to a series' own rows that train, and forecasts the windows of that series. One that does not suit
// every series that has windows is left out, and named. They have no intervals.
void add_forecasts_of_each(const Recipe& recipe, const SeriesData& data, const TestPart& part,
                           Evaluation& evaluation);

// How many series the model forecasts better than each baseline, and the series on which it errs most. None: there is one series.
std::optional<RunDescription::Table> table_by_series(const Evaluation& evaluation, const SeriesData& data);
// Of a method, by the series' names: errors and windows. `errors` makes the JSON of some.
nlohmann::ordered_json json_by_series(const Evaluation& evaluation, const ForecastRow& row,
                                      nlohmann::ordered_json (*errors)(const ForecastErrors&));

}  // namespace timeseries
