// Writes evaluations as tables, verdicts and JSON. See scores.h.
#include <algorithm>
#include <cmath>
#include <span>

#include "examples/timeseries/scores/scores.h"
#include "framework/one_line.h"
#include "training/files/json/json.h"

namespace timeseries {

namespace {

using Json = nlohmann::ordered_json;

constexpr ForecastMeasure all_forecast_measures[] = {
    {{"MSE scaled", "scaled_mse"}, &ForecastErrors::scaled_mse},
    {{"MAE scaled", "scaled_mae"}, &ForecastErrors::scaled_mae},
    {{"RMSE", "rmse"}, &ForecastErrors::rmse},
    {{"MAE", "mae"}, &ForecastErrors::mae},
    {{"sMAPE", "smape"}, &ForecastErrors::smape},
    {{"MASE", "mase"}, &ForecastErrors::mase},
    {{.name = "Winkler scaled", .key = "scaled_winkler", .is_optional = true},
     &ForecastErrors::scaled_winkler},
    {{.name = "pinball scaled", .key = "scaled_pinball", .is_optional = true},
     &ForecastErrors::scaled_pinball}};
// The last two are for forecasts with intervals, in their own table.
constexpr auto forecast_measures = std::span(all_forecast_measures).first<6>();
constexpr auto interval_measures = std::span(all_forecast_measures).last<2>();

constexpr MeasureOf<DetectionScores> detection_measures[] = {
    {{"accuracy", "accuracy", false}, &DetectionScores::accuracy},
    {{"balanced", "balanced_accuracy", false}, &DetectionScores::balanced_accuracy},
    {{"precision", "precision", false}, &DetectionScores::precision},
    {{"recall", "recall", false}, &DetectionScores::recall},
    {{"F1", "f1", false}, &DetectionScores::f1},
    {{"ROC-AUC", "roc_auc", false}, &DetectionScores::roc_auc},
    {{"log loss", "log_loss"}, &DetectionScores::log_loss}};

// A table with a column for each measure, after these.
RunDescription::Table table_with(std::string title, std::vector<std::string> columns, const auto& measures) {
  RunDescription::Table table{.title = std::move(title), .note = {}, .columns = std::move(columns)};
  for (const auto& measure : measures) table.columns.emplace_back(measure.name);
  return table;
}

// Adds a row with these first cells.
void add_row(RunDescription::Table& table, std::vector<std::string> cells, const auto& measures,
             const auto& scores) {
  for (const auto& measure : measures) cells.push_back(figure(scores.*measure.value));
  table.rows.push_back(std::move(cells));
}

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

RunDescription::Table table_of_detections(const Evaluation& evaluation) {
  const DetectionScores& first = evaluation.detections[0].scores;
  RunDescription::Table table = table_with("Scores: " + evaluation.part, {""}, detection_measures);
  table.note =
      fmt::format("{} rows, {} of them positive.", with_commas(first.count), with_commas(first.positives));
  for (const DetectionRow& row : evaluation.detections)
    add_row(table, {row.name}, detection_measures, row.scores);
  return table;
}

// At up to 12 steps.
RunDescription::Table table_by_step(const Evaluation& evaluation) {
  const int horizon = evaluation.recipe.horizon();
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

// Without rows: no forecast has an interval.
RunDescription::Table table_of_intervals(const Evaluation& evaluation) {
  RunDescription::Table table =
      table_with("Intervals: " + evaluation.part, {"", "coverage"}, interval_measures);
  for (const ForecastRow& row : evaluation.forecasts) {
    const ForecastErrors errors = row.scores.overall();
    if (errors.intervals == 0) continue;
    table.note = fmt::format(
        "Each is meant for {:.0f} %. Winkler: the mean width, and what lies outside of it; pinball: of both ends and "
        "of the forecast.",
        100 * row.level);
    add_row(table, {row.name, fmt::format("{:.1f} %", 100 * errors.coverage)}, interval_measures, errors);
  }
  return table;
}

}  // namespace

const ForecastMeasure& summary_measure(size_t targets) {  // of channels or series
  const char* const key = targets > 1 ? "scaled_mse" : "rmse";
  return *std::ranges::find(forecast_measures, std::string_view(key), &ForecastMeasure::key);
}

std::optional<int> only_label(const DetectionScores& scores) {
  if (scores.positives == 0) return 0;
  return scores.positives == scores.count ? std::optional(1) : std::nullopt;
}

RunDescription::Table table_of(const Evaluation& evaluation) {
  if (evaluation.detects()) return table_of_detections(evaluation);
  RunDescription::Table table = table_with("Scores: " + evaluation.part, {""}, forecast_measures);
  for (const ForecastRow& row : evaluation.forecasts)
    add_row(table, {row.name}, forecast_measures, row.scores.overall());
  table.note = fmt::format("{} windows{}.", with_commas(evaluation.forecasts[0].scores.windows()),
                           evaluation.targets_left_out == 0 ? ", none left out" : "");
  if (!evaluation.members().empty())
    table.note += fmt::format(
        " Means over all forecasts of {} series, each in units of its own series where scaled; RMSE and MAE "
        "add up what may have different units.",
        with_commas(evaluation.members().size()));
  else if (evaluation.data.targets().size() > 1)
    table.note += fmt::format(
        " RMSE and MAE add up {} channels, each in its own unit; the scaled ones weigh them alike.",
        evaluation.data.targets().size());
  if (evaluation.targets_left_out > 0)
    table.note +=
        fmt::format(" {} value{} that {} filled in {} not scored.", with_commas(evaluation.targets_left_out),
                    plural(evaluation.targets_left_out), evaluation.targets_left_out == 1 ? "was" : "were",
                    evaluation.targets_left_out == 1 ? "is" : "are");
  if (evaluation.interval)
    table.note +=
        fmt::format(" The model's interval: {}.", describe(*evaluation.interval, evaluation.recipe));
  for (const std::string& detail : evaluation.details) table.note += fmt::format(" {}.", detail);
  for (const std::string& baseline : evaluation.left_out) table.note += fmt::format(" {}.", baseline);
  return table;
}

std::vector<RunDescription::Table> further_tables(const Evaluation& evaluation) {
  std::vector<RunDescription::Table> tables;
  if (evaluation.detects()) return tables;
  if (evaluation.recipe.horizon() > 1) tables.push_back(table_by_step(evaluation));
  if (auto intervals = table_of_intervals(evaluation); !intervals.rows.empty())
    tables.push_back(std::move(intervals));
  return tables;
}

void print(const Console& console, const Evaluation& evaluation, bool with_model) {
  console.print("{}\n", evaluation.part), console.print(table_of(evaluation));
  for (const std::string& warning : evaluation.warnings) console.print("warning {}\n", warning);
  if (with_model)
    for (const std::string& line : verdicts(evaluation)) console.print("{}\n", line);
  console.print("protocol: {}\n", evaluation.protocol);
  for (const RunDescription::Table& table : further_tables(evaluation))
    console.print("\n{}\n", table.title), console.print(table);
}

Comparison comparison_of(const Evaluation& evaluation) {
  Comparison comparison;
  const auto add = [&](const std::string& name, const auto& measures, const auto& scores,
                       bool knows_labels = false) {
    comparison.measures.assign(std::begin(measures), std::end(measures));
    ScoredRow& row = comparison.rows.emplace_back(ScoredRow{name, {}, knows_labels});
    for (const auto& measure : measures) row.values.push_back(scores.*measure.value);
  };
  for (const ForecastRow& row : evaluation.forecasts)
    add(row.name, all_forecast_measures, row.scores.overall());
  for (const DetectionRow& row : evaluation.detections)
    add(row.name, detection_measures, row.scores, row.knows_labels);
  return comparison;
}

std::vector<std::string> verdicts(const Evaluation& evaluation) {
  std::vector<std::string> lines = verdicts(comparison_of(evaluation));
  if (evaluation.detects())
    if (const auto only = only_label(evaluation.detections[0].scores))
      lines.push_back(fmt::format("all labels here are {}: there is no balanced accuracy to compare", *only));
  return lines;
}

RunDescription::Figure tile_of(const Evaluation& evaluation) {
  const Comparison comparison = comparison_of(evaluation);
  std::string key = summary_measure(evaluation.summed()).key;
  if (evaluation.detects())
    key = only_label(evaluation.detections[0].scores) ? "accuracy" : "balanced_accuracy";
  const auto shown = std::ranges::find(comparison.measures, key, &Measure::key);
  return {fmt::format("{}: {}", evaluation.part, shown->name),
          figure(comparison.rows[0].values[shown - comparison.measures.begin()]),
          fmt::format("{}", fmt::join(verdicts(comparison), "; "))};
}

Json json_of(const Evaluation& evaluation) {
  const Series& series = evaluation.data.series();
  const std::vector<int>& targets = evaluation.data.targets();
  Json json = Json::object();
  for (const ForecastRow& row : evaluation.forecasts) {
    const ForecastErrors errors = row.scores.overall();
    json[row.name] = json_of(errors);
    for (int step = 0; step < row.scores.horizon() && errors.intervals > 0; ++step)
      json[row.name]["coverage_by_step"].push_back(number_or_null<Json>(row.scores.at_step(step).coverage));
    if (row.name == "the model") {
      for (int step = 0; step < row.scores.horizon(); ++step)
        json[row.name]["by_step"].push_back(json_of(row.scores.at_step(step)));
      for (int target = 0; target < row.scores.targets(); ++target)
        json[row.name]["by_channel"][series.channels[targets[target]]] =
            json_of(row.scores.of_target(target));
    }
    if (!evaluation.members().empty()) json[row.name]["by_series"] = Json::object();
    for (size_t member = 0; member < evaluation.members().size(); ++member)
      if (const auto found = row.scores.of_member(static_cast<int>(member)); found.count > 0)
        json[row.name]["by_series"][evaluation.members()[member]] = json_of(found);
    json[row.name]["windows"] = row.scores.windows();
    json[row.name]["targets_left_out"] = evaluation.targets_left_out;
  }
  if (evaluation.interval)
    if (const auto coverage = evaluation.interval->coverage())
      json["the model"]["interval_coverage"] = *coverage;
  for (const DetectionRow& row : evaluation.detections) {
    for (const auto& measure : detection_measures)
      json[row.name][measure.key] = number_or_null<Json>(row.scores.*measure.value);
    json[row.name]["rows"] = row.scores.count;
  }
  if (!json.contains("the model")) return json;
  json["the model"]["protocol"] = evaluation.protocol;
  json["the model"].update(json_of(comparison_of(evaluation)));
  return json;
}

}  // namespace timeseries
