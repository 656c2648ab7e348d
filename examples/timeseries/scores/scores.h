// Scores a model and the baselines on the same windows, as a table and in words.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "examples/timeseries/data/series_data.h"
#include "examples/timeseries/model/interval.h"
#include "examples/timeseries/model/series_model.h"
#include "examples/timeseries/scores/verdict.h"
#include "examples/timeseries/series/detection_scores.h"
#include "examples/timeseries/series/forecast_scores.h"
#include "training/report/chart.h"
#include "training/report/run_description.h"
#include "training/shared_score.h"

namespace timeseries {

struct ForecastRow {
  std::string name;
  ForecastScores scores;
  double level = 0.8;  // the interval's level
};
struct DetectionRow {
  std::string name;
  DetectionScores scores;
  bool knows_labels = false;  // as in ScoredRow
};
// Scores of one part: `forecasts` or `detections`, depending on the task. The model, if there is one, comes first.
struct Evaluation {
  std::string part;
  const Recipe& recipe;
  const SeriesData& data;
  // The names, if the file has several series.
  const std::vector<std::string>& members() const { return data.facts.members; }
  // The number of channels, or series, in a sum of errors. If it is more than one, units may differ.
  size_t summed() const { return std::max(data.targets().size(), members().size()); }
  int64_t targets_left_out = 0;  // filled-in values of the part, which do not count in scores
  std::vector<ForecastRow> forecasts = {};
  // The model's interval. None: no quantiles, and too few forecasts to measure it.
  std::optional<ForecastInterval> interval = {};
  // The model's forecasts to draw, with intervals: the last one, or the last 120 if the horizon is 1.
  std::vector<WindowForecast> drawn = {};
  std::vector<DetectionRow> detections = {};
  bool detects() const { return !detections.empty(); }
  std::string protocol = {};               // windows, scaling, seed, values left out
  std::vector<std::string> warnings = {};  // about the model: values far outside of its training values
  std::vector<std::string> details = {};   // about baselines: what was fitted to which rows
  std::vector<std::string> left_out = {};  // baselines that have too little history here
};

// A network's mean loss over all windows, in parts of one batch that processes may share. Requires: model and
// windows outlive it. Throws Interrupted after a signal.
SharedScore mean_loss(const SeriesModel& model, SeriesWindows& windows, int batch);

// A detector's probabilities, in order of time.
std::vector<double> detect(const Recipe& recipe, const SeriesModel& model, SeriesWindows& windows);

// Scores the baselines and, unless it is nullptr, the model. Passes each forecast of the model, with its interval
// (NaN: none), to `each`. Requires: recipe and data outlive the result.
Evaluation evaluate(const Recipe& recipe, const SeriesData& data, TestPart& part, const SeriesModel* model,
                    const ForecastUse& each = {});

// --- as tables and in words (score_tables.cpp) ---------------------------------------------------------------

// A measure, and where its value stands in the scores.
template <class Scores>
struct MeasureOf : Measure {
  double Scores::*value;
};
using ForecastMeasure = MeasureOf<ForecastErrors>;
// The main measure: RMSE; for several channels or series, whose units may differ, a scaled one.
const ForecastMeasure& summary_measure(size_t targets);

// The label of all scored rows; none: they differ.
std::optional<int> only_label(const DetectionScores& scores);

RunDescription::Table table_of(const Evaluation& evaluation);
// Tables for forecasts: errors at up to 12 steps of the horizon; coverage and cost of intervals.
std::vector<RunDescription::Table> further_tables(const Evaluation& evaluation);
// Prints these tables, the warnings, the protocol and, `with_model`, the verdict.
void print(const Console& console, const Evaluation& evaluation, bool with_model);
// All scores: of the model, if it was scored, and of the baselines.
Comparison comparison_of(const Evaluation& evaluation);
// The model's verdict: measures it wins and loses by. Requires: an evaluation with a model.
std::vector<std::string> verdicts(const Evaluation& evaluation);
// The main score and the verdict, for the report.
RunDescription::Figure tile_of(const Evaluation& evaluation);
// {"last value": {"rmse": …}, …}, with the model's verdict
nlohmann::ordered_json json_of(const Evaluation& evaluation);

// --- as pictures (pictures.cpp) -----------------------------------------------------------------------------

// Pictures of the forecasts of `part`, which the evaluation is of; none of a detector.
std::vector<Chart> pictures_of(const TestPart& part, const Evaluation& evaluation);

// A target's rows from `first` to the end of the forecasts, over time: those before `known` as the first series, the forecasts
// [steps, targets] as the second. `interval`: the name of the band, where they have one; empty: they have none.
Chart chart_of_forecasts(const Series& series, const std::vector<int>& targets, size_t target, int64_t first,
                         int64_t known, const std::vector<WindowForecast>& forecasts,
                         const std::string& interval);

}  // namespace timeseries
