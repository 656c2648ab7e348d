// A model and the baselines on the same windows, in one table; and in words by what it is better than they.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "examples/timeseries/data/series_data.h"
#include "examples/timeseries/networks/model.h"
#include "examples/timeseries/scores/evaluation.h"
#include "examples/timeseries/scores/verdict.h"
#include "training/report/run_description.h"
#include "training/shared_score.h"

namespace timeseries {

// The mean of a network's loss over all windows, in parts of one batch, which processes may share; both must outlive it. Throws
// Interrupted after a signal.
SharedScore mean_loss(const SeriesModel& model, size_t network, SeriesWindows& windows, int batch);

// Probabilities of a detector, in order of time.
std::vector<double> detect(const SeriesModel& model, SeriesWindows& windows, int batch);

// The baselines and, unless it is nullptr, the model. Recipe and data must outlive what is returned. Each forecast of the model
// also goes to `each`, with its interval; NaN: it has none.
Evaluation evaluate(const Recipe& recipe, const SeriesData& data, TestPart& part, const SeriesModel* model,
                    const ForecastUse& each = {});

// --- as tables and in words (score_tables.cpp) ---------------------------------------------------------------

// The label that all rows have that were scored; none: they differ.
std::optional<int> only_label(const DetectionScores& scores);

RunDescription::Table table_of(const Evaluation& evaluation);
// To forecast: errors by step of the horizon, at most 12 of them; what intervals hold and cost; the same of the model's by step
// and channel.
std::vector<RunDescription::Table> further_tables(const Evaluation& evaluation, const SeriesData& data,
                                                  bool with_model);
// One of the table's rows: the scores of the model, which comes first, or of a baseline, by measure.
struct JudgedRow {
  std::string name;
  bool knows_labels = false;
  std::vector<double> values = {};
};
std::vector<JudgedRow> judged_rows(const Evaluation& evaluation);
// Baselines that know labels do not count.
Comparison compare(const std::vector<JudgedRow>& rows, bool detects);
// Of an evaluation with a model: what it wins and loses by.
std::vector<std::string> verdicts(const Evaluation& evaluation);
// The score that stands for all in the report, and the verdict.
RunDescription::Figure tile_of(const Evaluation& evaluation);
// {"last value": {"rmse": …}, …}, with the model's verdict
nlohmann::ordered_json json_of(const Evaluation& evaluation);

}  // namespace timeseries
