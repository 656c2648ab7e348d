// A model and the naive rules on the same windows, in one table; and in words which of them is better.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "data/detection_scores.h"
#include "data/forecast_scores.h"
#include "model.h"
#include "series_data.h"
#include "training/run_description.h"

namespace timeseries {

// The mean of the recipe's loss over all windows. Throws Interrupted after a signal.
double mean_loss(const SeriesModel& model, SeriesWindows& windows, int batch);

// What values should lie within: between the outer quantiles of a model that has them; else, for 80 % of them, around their
// forecasts, from the errors of the valid split, as if they were normal. The model was chosen on that split, so these may be
// too small for any other.
struct ForecastInterval {
  std::vector<double> half = {};  // its half width in original units, [horizon, targets]; empty: by quantiles
  double coverage = 0;            // the share of the part's values that do lie within
};

// Probabilities of a detector, in order of time.
std::vector<double> detect(const SeriesModel& model, SeriesWindows& windows, int batch);

struct ForecastRow {
  std::string name;
  ForecastScores scores;
};
struct DetectionRow {
  std::string name;
  DetectionScores scores;
  bool knows_labels = false;  // those of other rows, which a detector does not see
};
// One of the two lists, as the task is; the model comes first, if there is one.
struct Evaluation {
  std::string part;
  int horizon = 1, targets = 1;
  bool full = true;  // all windows of the part are scored
  std::vector<ForecastRow> forecasts = {};
  std::optional<ForecastInterval> interval =
      {};  // of the model; none: it has no quantiles, and there is no valid split, or that is the part
  std::vector<DetectionRow> detections = {};
  std::vector<std::string> left_out = {};  // rules for which there is too little history here
};
// The rules and, unless it is nullptr, the model. The data must outlive what is returned.
Evaluation evaluate(const Recipe& recipe, const SeriesData& data, TestPart& part, const SeriesModel* model);

// The label that all rows have that were scored; none: they differ.
std::optional<int> only_label(const DetectionScores& scores);

RunDescription::Table table_of(const Evaluation& evaluation);
// By step of the horizon: the model and the rules. Of at most 12 steps.
std::optional<RunDescription::Table> table_by_step(const Evaluation& evaluation);
// "the model loses to seasonal naive (12): RMSE 25.3, the rule 15.6", or that it is better than all of them;
// or that there is no such score.
std::vector<std::string> verdicts(const Evaluation& evaluation);
// {"last value": {"rmse": …}, …}
nlohmann::ordered_json json_of(const Evaluation& evaluation);

}  // namespace timeseries
