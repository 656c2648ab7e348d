// A model and the baselines on the same windows, in one table; and in words by what it is better than they.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "data/series/detection_scores.h"
#include "data/series/forecast_scores.h"
#include "interval.h"
#include "model.h"
#include "series_data.h"
#include "training/report/run_description.h"
#include "training/shared_score.h"
#include "verdict.h"

namespace timeseries {

// The mean of a network's loss over all windows, in parts of one batch, which processes may share; both must outlive it. Throws
// Interrupted after a signal.
SharedScore mean_loss(const SeriesModel& model, size_t network, SeriesWindows& windows, int batch);

// Probabilities of a detector, in order of time.
std::vector<double> detect(const SeriesModel& model, SeriesWindows& windows, int batch);

constexpr size_t most_drawn = 120;

struct ForecastRow {
  std::string name;
  ForecastScores scores;
  double level = 0.8;  // of its interval
};
struct DetectionRow {
  std::string name;
  DetectionScores scores;
  bool knows_labels = false;  // those of other rows, which a detector does not see
};
// One of the two lists, as the task is; the model comes first, if there is one.
struct Evaluation {
  std::string part;
  const Recipe* recipe;
  int horizon = 1, targets = 1;
  std::vector<std::string> channels = {};  // that are forecast
  std::vector<std::string> members = {};   // the series of a file that has several
  // Channels, or series, whose errors are summed up: more than one may have different units.
  size_t summed() const { return std::max(static_cast<size_t>(targets), members.size()); }
  bool full = true;                        // all windows of the part are scored
  int64_t targets_left_out = 0;  // values of the part that were filled in, which nothing is scored on
  std::vector<ForecastRow> forecasts = {};
  // Of the model. None: no quantiles, and too few forecasts to measure it by.
  std::optional<ForecastInterval> interval = {};
  // Of the model, with their intervals: the last forecast, or as many as pictures show of one step each.
  std::deque<WindowForecast> drawn = {};
  std::vector<DetectionRow> detections = {};
  std::string protocol = {};               // windows, scaling, seed, and what was left out
  std::vector<std::string> warnings = {};  // of a model: values far outside of those that trained it
  std::vector<std::string> details = {};   // of baselines: what was fitted to which rows
  std::vector<std::string> left_out = {};  // baselines for which there is too little history here
};
// The baselines and, unless it is nullptr, the model. Recipe and data must outlive what is returned. Each forecast of the model
// also goes to `each`, with its interval; NaN: it has none.
Evaluation evaluate(const Recipe& recipe, const SeriesData& data, TestPart& part, const SeriesModel* model,
                    const ForecastUse& each = {});

// --- as tables and in words (score_tables.cpp) ---------------------------------------------------------------

struct ForecastMeasure {
  const char *name, *key;  // "RMSE", "rmse"
  double ForecastErrors::*value;
};
// The one that stands for all: RMSE; of several channels or series, whose units may differ, a scaled one.
const ForecastMeasure& summary_measure(size_t targets);
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
