// Scores a model and the baselines on the same windows, as a table and in words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "examples/timeseries/data/series_data.h"
#include "examples/timeseries/model/series_model.h"
#include "examples/timeseries/scores/evaluation.h"
#include "examples/timeseries/scores/verdict.h"
#include "training/report/run_description.h"
#include "training/shared_score.h"

namespace timeseries {

// A network's mean loss over all windows, in parts of one batch that processes may share. Requires: model and
// windows outlive it. Throws Interrupted after a signal.
SharedScore mean_loss(const SeriesModel& model, SeriesWindows& windows, int batch);

// A detector's probabilities, in order of time.
std::vector<double> detect(const SeriesModel& model, SeriesWindows& windows, int batch);

// Scores the baselines and, unless it is nullptr, the model. Passes each forecast of the model, with its interval
// (NaN: none), to `each`. Requires: recipe and data outlive the result.
Evaluation evaluate(const Recipe& recipe, const SeriesData& data, TestPart& part, const SeriesModel* model,
                    const ForecastUse& each = {});

// --- as tables and in words (score_tables.cpp) ---------------------------------------------------------------

// The label of all scored rows; none: they differ.
std::optional<int> only_label(const DetectionScores& scores);

RunDescription::Table table_of(const Evaluation& evaluation);
// Tables for forecasts: errors at up to 12 steps of the horizon; coverage and cost of intervals.
std::vector<RunDescription::Table> further_tables(const Evaluation& evaluation);
// A row of the table: scores by measure of the model (first) or a baseline.
struct JudgedRow {
  std::string name;
  bool knows_labels = false;
  std::vector<double> values = {};
};
std::vector<JudgedRow> judged_rows(const Evaluation& evaluation);
// Compares the model with the baselines, except those that know labels.
Comparison compare(const std::vector<JudgedRow>& rows, bool detects);
// The model's verdict: measures it wins and loses by. Requires: an evaluation with a model.
std::vector<std::string> verdicts(const Evaluation& evaluation);
// The main score and the verdict, for the report.
RunDescription::Figure tile_of(const Evaluation& evaluation);
// {"last value": {"rmse": …}, …}, with the model's verdict
nlohmann::ordered_json json_of(const Evaluation& evaluation);

}  // namespace timeseries
