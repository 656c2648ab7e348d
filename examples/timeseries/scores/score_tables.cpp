// Writes evaluations as tables, verdicts and JSON. See scores.h.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "examples/timeseries/scores/many_series.h"
#include "examples/timeseries/scores/scores.h"
#include "training/files/json/json.h"

namespace timeseries {

namespace {

using Json = nlohmann::ordered_json;

constexpr ForecastMeasure forecast_measures[] = {{"MSE scaled", "scaled_mse", &ForecastErrors::scaled_mse},
                                                 {"MAE scaled", "scaled_mae", &ForecastErrors::scaled_mae},
                                                 {"RMSE", "rmse", &ForecastErrors::rmse},
                                                 {"MAE", "mae", &ForecastErrors::mae},
                                                 {"sMAPE", "smape", &ForecastErrors::smape},
                                                 {"MASE", "mase", &ForecastErrors::mase}};
// For forecasts with intervals, in their own table.
constexpr ForecastMeasure interval_measures[] = {
    {"Winkler scaled", "scaled_winkler", &ForecastErrors::scaled_winkler},
    {"pinball scaled", "scaled_pinball", &ForecastErrors::scaled_pinball}};
std::vector<ForecastMeasure> all_forecast_measures() {
  std::vector<ForecastMeasure> all(std::begin(forecast_measures), std::end(forecast_measures));
  std::ranges::copy(interval_measures, std::back_inserter(all));
  return all;
}

struct DetectionMeasure {
  const char *name, *key;
  double DetectionScores::*value;
};
constexpr DetectionMeasure detection_measures[] = {
    {"accuracy", "accuracy", &DetectionScores::accuracy},
    {"balanced", "balanced_accuracy", &DetectionScores::balanced_accuracy},
    {"precision", "precision", &DetectionScores::precision},
    {"recall", "recall", &DetectionScores::recall},
    {"F1", "f1", &DetectionScores::f1},
    {"ROC-AUC", "roc_auc", &DetectionScores::roc_auc},
    {"log loss", "log_loss", &DetectionScores::log_loss}};

}  // namespace

const ForecastMeasure& summary_measure(size_t targets) {  // of channels or series
  const char* const key = targets > 1 ? "scaled_mse" : "rmse";
  return *std::ranges::find(forecast_measures, std::string_view(key), &ForecastMeasure::key);
}

std::optional<int> only_label(const DetectionScores& scores) {
  if (scores.positives == 0) return 0;
  return scores.positives == scores.count ? std::optional(1) : std::nullopt;
}

static RunDescription::Table table_of_detections(const Evaluation& evaluation) {
  const DetectionScores& first = evaluation.detections[0].scores;
  RunDescription::Table table{.title = "Scores: " + evaluation.part,
                              .note = fmt::format("{} rows, {} of them positive.", with_commas(first.count),
                                                  with_commas(first.positives)),
                              .columns = {""}};
  for (const DetectionMeasure& measure : detection_measures) table.columns.push_back(measure.name);
  for (const DetectionRow& row : evaluation.detections) {
    table.rows.push_back({row.name});
    for (const DetectionMeasure& measure : detection_measures)
      table.rows.back().push_back(figure(row.scores.*measure.value));
  }
  return table;
}

RunDescription::Table table_of(const Evaluation& evaluation) {
  if (evaluation.detects()) return table_of_detections(evaluation);
  RunDescription::Table table{.title = "Scores: " + evaluation.part, .note = {}, .columns = {""}};
  for (const ForecastMeasure& measure : forecast_measures) table.columns.push_back(measure.name);
  for (const ForecastRow& row : evaluation.forecasts) {
    table.rows.push_back({row.name});
    const ForecastErrors errors = row.scores.overall();
    for (const ForecastMeasure& measure : forecast_measures)
      table.rows.back().push_back(figure(errors.*measure.value));
  }
  table.note = fmt::format("{} windows{}.", with_commas(evaluation.forecasts[0].scores.windows()),
                           evaluation.targets_left_out == 0 ? ", none left out" : "");
  if (!evaluation.members.empty())
    table.note += fmt::format(
        " Means over all forecasts of {} series, each in units of its own series where scaled; RMSE and MAE "
        "add up what may have different units.",
        with_commas(evaluation.members.size()));
  else if (evaluation.targets > 1)
    table.note += fmt::format(
        " RMSE and MAE add up {} channels, each in its own unit; the scaled ones weigh them alike.",
        evaluation.targets);
  if (evaluation.targets_left_out > 0)
    table.note += fmt::format(
        " {} value{} that {} filled in {} not scored.", with_commas(evaluation.targets_left_out),
        evaluation.targets_left_out == 1 ? "" : "s", evaluation.targets_left_out == 1 ? "was" : "were",
        evaluation.targets_left_out == 1 ? "is" : "are");
  if (evaluation.interval)
    table.note +=
        fmt::format(" The model's interval: {}.", describe(*evaluation.interval, *evaluation.recipe));
  for (const std::string& detail : evaluation.details) table.note += fmt::format(" {}.", detail);
  for (const std::string& baseline : evaluation.left_out) table.note += fmt::format(" {}.", baseline);
  return table;
}

namespace {

// At up to 12 steps.
std::optional<RunDescription::Table> table_by_step(const Evaluation& evaluation) {
  const int horizon = evaluation.horizon;
  if (horizon == 1) return {};
  const ForecastMeasure& measure = summary_measure(evaluation.summed());
  RunDescription::Table table{
      .title = fmt::format("{} by step: {}", measure.name, evaluation.part), .note = {}, .columns = {"step"}};
  for (const ForecastRow& row : evaluation.forecasts) table.columns.push_back(row.name);
  constexpr int most = 12;
  const int lines = std::min(horizon, most);
  for (int k = 1; k <= lines; ++k) {
    const int step = (k * horizon + lines - 1) / lines;
    table.rows.push_back({std::to_string(step)});
    for (const ForecastRow& row : evaluation.forecasts)
      table.rows.back().push_back(figure(row.scores.at_step(step - 1).*measure.value));
  }
  return table;
}

std::optional<RunDescription::Table> table_of_intervals(const Evaluation& evaluation) {
  RunDescription::Table table{
      .title = "Intervals: " + evaluation.part, .note = {}, .columns = {"", "coverage"}};
  for (const ForecastMeasure& measure : interval_measures) table.columns.push_back(measure.name);
  std::vector<double> levels;
  for (const ForecastRow& row : evaluation.forecasts) {
    const ForecastErrors errors = row.scores.overall();
    if (errors.intervals == 0) continue;
    levels.push_back(row.level);
    table.rows.push_back({row.name, fmt::format("{:.1f} %", 100 * errors.coverage)});
    for (const ForecastMeasure& measure : interval_measures)
      table.rows.back().push_back(figure(errors.*measure.value));
  }
  if (levels.empty()) return {};
  table.note = levels.front() == levels.back()
                   ? fmt::format("Each is meant for {:.0f} %", 100 * levels.back())
                   : fmt::format("The model's is meant for {:.0f} %, a baseline's for {:.0f} %",
                                 100 * levels.front(), 100 * levels.back());
  table.note +=
      ". Winkler: the mean width, and what lies outside of it; pinball: of both ends and of the forecast.";
  return table;
}

}  // namespace

std::vector<RunDescription::Table> further_tables(const Evaluation& evaluation) {
  std::vector<RunDescription::Table> tables;
  const auto add = [&](std::optional<RunDescription::Table> table) {
    if (table) tables.push_back(std::move(*table));
  };
  if (evaluation.detects()) return tables;
  add(table_by_step(evaluation));
  add(table_of_intervals(evaluation));
  return tables;
}

std::vector<JudgedRow> judged_rows(const Evaluation& evaluation) {
  std::vector<JudgedRow> rows;
  for (const ForecastRow& row : evaluation.forecasts) {
    rows.push_back({.name = row.name});
    const ForecastErrors errors = row.scores.overall();
    for (const ForecastMeasure& measure : all_forecast_measures())
      rows.back().values.push_back(errors.*measure.value);
  }
  for (const DetectionRow& row : evaluation.detections) {
    rows.push_back({.name = row.name, .knows_labels = row.knows_labels});
    for (const DetectionMeasure& measure : detection_measures)
      rows.back().values.push_back(row.scores.*measure.value);
  }
  return rows;
}

Comparison compare(const std::vector<JudgedRow>& rows, bool detects) {
  Comparison comparison{.baselines = {}};
  if (detects)
    for (const DetectionMeasure& measure : detection_measures)
      comparison.measures.push_back({.name = measure.name,
                                     .key = measure.key,
                                     .less_is_better = measure.value == &DetectionScores::log_loss});
  else
    for (const ForecastMeasure& measure : all_forecast_measures())
      comparison.measures.push_back({.name = measure.name, .key = measure.key});
  for (const JudgedRow& row : rows) {
    if (row.knows_labels) continue;
    if (&row != rows.data()) comparison.baselines.push_back(row.name);
    for (size_t k = 0; k < row.values.size(); ++k) comparison.measures[k].values.push_back(row.values[k]);
  }
  // If no row has an interval, their measures are left out.
  std::erase_if(comparison.measures, [](const Comparison::Measure& measure) {
    return std::ranges::find(interval_measures, measure.key, &ForecastMeasure::key) !=
               std::end(interval_measures) &&
           std::ranges::all_of(measure.values, [](double value) { return std::isnan(value); });
  });
  return comparison;
}

std::vector<std::string> verdicts(const Evaluation& evaluation) {
  std::vector<std::string> lines = verdicts(compare(judged_rows(evaluation), evaluation.detects()));
  if (evaluation.detects())
    if (const auto only = only_label(evaluation.detections[0].scores))
      lines.push_back(fmt::format("all labels here are {}: there is no balanced accuracy to compare", *only));
  return lines;
}

RunDescription::Figure tile_of(const Evaluation& evaluation) {
  const Comparison comparison = compare(judged_rows(evaluation), evaluation.detects());
  std::string key = summary_measure(evaluation.summed()).key;
  if (evaluation.detects())
    key = only_label(evaluation.detections[0].scores) ? "accuracy" : "balanced_accuracy";
  const auto shown = std::ranges::find(comparison.measures, key, &Comparison::Measure::key);
  return {fmt::format("{}: {}", evaluation.part, shown->name), figure(shown->values[0]),
          fmt::format("{}", fmt::join(verdicts(comparison), "; "))};
}

namespace {

Json json_of(const ForecastErrors& errors) {
  Json json;
  for (const ForecastMeasure& measure : forecast_measures)
    json[measure.key] = number_or_null<Json>(errors.*measure.value);
  if (errors.intervals == 0) return json;
  json["coverage"] = errors.coverage;
  for (const ForecastMeasure& measure : interval_measures)
    json[measure.key] = number_or_null<Json>(errors.*measure.value);
  return json;
}

}  // namespace

Json json_of(const Evaluation& evaluation) {
  Json json = Json::object();
  for (const ForecastRow& row : evaluation.forecasts) {
    const ForecastErrors errors = row.scores.overall();
    json[row.name] = json_of(errors);
    if (errors.intervals > 0) {
      for (int step = 0; step < evaluation.horizon; ++step)
        json[row.name]["coverage_by_step"].push_back(number_or_null<Json>(row.scores.at_step(step).coverage));
    }
    if (row.name == "the model") {
      for (int step = 0; step < evaluation.horizon; ++step)
        json[row.name]["by_step"].push_back(json_of(row.scores.at_step(step)));
      for (int target = 0; target < evaluation.targets; ++target)
        json[row.name]["by_channel"][evaluation.channels[target]] = json_of(row.scores.of_target(target));
    }
    if (!evaluation.members.empty()) json[row.name]["by_series"] = json_by_series(evaluation, row, json_of);
    json[row.name]["windows"] = row.scores.windows();
    json[row.name]["targets_left_out"] = evaluation.targets_left_out;
  }
  if (evaluation.interval)
    if (const auto coverage = evaluation.interval->coverage())
      json["the model"]["interval_coverage"] = *coverage;
  for (const DetectionRow& row : evaluation.detections) {
    for (const DetectionMeasure& measure : detection_measures)
      json[row.name][measure.key] = number_or_null<Json>(row.scores.*measure.value);
    json[row.name]["rows"] = row.scores.count;
  }
  if (!json.contains("the model")) return json;
  json["the model"]["protocol"] = evaluation.protocol;
  json["the model"].update(json_of(compare(judged_rows(evaluation), evaluation.detects())));
  return json;
}

}  // namespace timeseries
