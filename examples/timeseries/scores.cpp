#include "scores.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "data/series/baselines.h"
#include "framework/signals.h"

namespace timeseries {

namespace {

using Json = nlohmann::ordered_json;

constexpr ForecastMeasure forecast_measures[] = {{"MSE scaled", "scaled_mse", &ForecastErrors::scaled_mse},
                                                 {"MAE scaled", "scaled_mae", &ForecastErrors::scaled_mae},
                                                 {"RMSE", "rmse", &ForecastErrors::rmse},
                                                 {"MAE", "mae", &ForecastErrors::mae},
                                                 {"sMAPE", "smape", &ForecastErrors::smape},
                                                 {"MASE", "mase", &ForecastErrors::mase}};
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

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

// What can be 0 or less has no growth.
bool is_positive(const Series& series, const std::vector<int>& channels) {
  for (int64_t row = 0; row < series.rows(); ++row)
    for (const int channel : channels)
      if (series.at(row, channel) <= 0) return false;
  return true;
}

void add_forecasts(const Recipe& recipe, const SeriesData& data, const SeriesWindows& windows,
                   Evaluation& evaluation) {
  std::vector<ForecastBaseline> baselines = {last_value()};
  if (recipe.data.period > 1) {
    baselines.push_back(seasonal_naive(recipe.data.period));
    if (is_positive(data.series(), data.targets())) baselines.push_back(seasonal_growth(recipe.data.period));
  }
  baselines.push_back(training_mean(data.series(), data.split.train));
  if (const int order = recipe.data.autoregression; order > 0) {
    if (can_fit_autoregression(data.series(), data.split.train, order, data.targets()))
      baselines.push_back(autoregression(data.series(), data.split.train, order, data.targets()));
    else  // of a shorter file than the model's own
      evaluation.left_out.push_back(fmt::format("autoregression ({})", order));
  }
  for (const ForecastBaseline& baseline : baselines) {
    const auto scores = score(baseline, windows, data.mase_scale);
    if (scores)
      evaluation.forecasts.push_back({baseline.name, *scores});
    else
      evaluation.left_out.push_back(baseline.name);
  }
}

void add_detections(const SeriesData& data, const SeriesWindows& windows, Evaluation& evaluation) {
  for (const DetectionBaseline& baseline :
       {majority_class(*data.train), threshold_baseline(*data.train), logistic_regression(*data.train)})
    evaluation.detections.push_back({baseline.name, score(baseline, windows)});
  const DetectionBaseline previous = previous_label(*data.train);
  evaluation.detections.push_back({previous.name, score(previous, windows), true});
}

// Of what a model reads and is held against.
void warn_of_far_values(const SeriesData& data, const SeriesWindows& windows, Evaluation& evaluation) {
  const auto& options = windows.options();
  const auto origins = windows.origins();
  const int64_t first_read = 1 - options.lead - options.window;
  FarOutside far(data.facts.trained, data.facts.scaling);
  std::set<int> channels(options.inputs.begin(), options.inputs.end());
  channels.insert(options.targets.begin(), options.targets.end());
  far.look(windows.series(), origins.front() + first_read, origins.back() + options.horizon, channels);
  if (auto warning = far.warning_of_inputs(windows.series()))
    evaluation.warnings.push_back(std::move(*warning));
}

void add_model(const Recipe& recipe, const SeriesData& data, TestPart& part, const SeriesModel& model,
               Evaluation& evaluation) {
  if (has_quantile_interval(recipe, recipe.data.horizon)) {
    evaluation.interval.emplace();
  } else if (auto valid = windows_if_any(recipe, data.series(), data.facts.scaling,
                                         from_row(data.split.valid, data.first_untrained))) {
    evaluation.interval = interval_of(score_model(recipe, model, *valid), "the validation split");
  }
  const bool is_test = part.name != "train" && part.name != "valid";
  ForecastInterval* counting = is_test && evaluation.interval ? &*evaluation.interval : nullptr;
  FarOutside far(data.facts.trained, data.facts.scaling);
  evaluation.forecasts.push_back({"the model", score_model(recipe, model, part.windows, data.mase_scale,
                                                           counting, data.first_untrained, &far)});
  if (auto warning = far.warning_of_forecasts(part.windows.series()); warning && evaluation.warnings.empty())
    evaluation.warnings.push_back(std::move(*warning));
}

}  // namespace

const ForecastMeasure& summary_measure(size_t targets) {
  const char* const key = targets > 1 ? "scaled_mse" : "rmse";
  return *std::ranges::find(forecast_measures, std::string_view(key), &ForecastMeasure::key);
}

double mean_loss(const SeriesModel& model, SeriesWindows& windows, int size) {
  const NoTape guard;
  windows.in_order();
  double total = 0;
  int64_t count = 0;
  for (int64_t k = 0; k < windows.batches(size); ++k) {
    stop_if_signalled();
    const SeriesBatch batch = windows.batch(k, size);
    total += static_cast<double>(model.loss(batch).item()) * static_cast<double>(batch.observed);
    count += batch.observed;
  }
  return total / static_cast<double>(count);
}

std::vector<double> detect(const SeriesModel& model, SeriesWindows& windows, int size) {
  windows.in_order();
  std::vector<double> probabilities;
  for (int64_t k = 0; k < windows.batches(size); ++k) {
    stop_if_signalled();
    const SeriesBatch batch = windows.batch(k, size);
    const Tensor found = model.predict(batch.input);
    require_finite(found, windows, batch.origins.front());
    std::ranges::copy(found.to_host(), std::back_inserter(probabilities));
  }
  return probabilities;
}

Evaluation evaluate(const Recipe& recipe, const SeriesData& data, TestPart& part, const SeriesModel* model) {
  Evaluation evaluation{.part = part.name,
                        .recipe = &recipe,
                        .horizon = recipe.horizon(),
                        .targets = static_cast<int>(data.targets().size()),
                        .full = recipe.data.drop_last_pairs == 0};
  part.windows.in_order();
  evaluation.targets_left_out = part.windows.targets_left_out();
  if (model) warn_of_far_values(data, part.windows, evaluation);
  if (recipe.detects()) {
    if (model)
      evaluation.detections.push_back(
          {"the model", score_detection(detect(*model, part.windows, recipe.data.eval_batch),
                                        window_labels(part.windows))});
    add_detections(data, part.windows, evaluation);
  } else {
    if (model) add_model(recipe, data, part, *model, evaluation);
    add_forecasts(recipe, data, part.windows, evaluation);
  }
  return evaluation;
}

std::optional<int> only_label(const DetectionScores& scores) {
  if (scores.positives == 0) return 0;
  return scores.positives == scores.count ? std::optional(1) : std::nullopt;
}

RunDescription::Table table_of(const Evaluation& evaluation) {
  RunDescription::Table table{.title = "Scores: " + evaluation.part, .note = {}, .columns = {""}};
  if (evaluation.detections.empty()) {
    for (const ForecastMeasure& measure : forecast_measures) table.columns.push_back(measure.name);
    for (const ForecastRow& row : evaluation.forecasts) {
      table.rows.push_back({row.name});
      const ForecastErrors errors = row.scores.overall();
      for (const ForecastMeasure& measure : forecast_measures)
        table.rows.back().push_back(figure(errors.*measure.value));
    }
    table.note = fmt::format("{} windows{}.", with_commas(evaluation.forecasts[0].scores.windows()),
                             evaluation.full && evaluation.targets_left_out == 0 ? ", none left out" : "");
    if (evaluation.targets > 1)
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
  } else {
    for (const auto& measure : detection_measures) table.columns.push_back(measure.name);
    for (const DetectionRow& row : evaluation.detections) {
      table.rows.push_back({row.name});
      for (const auto& measure : detection_measures)
        table.rows.back().push_back(figure(row.scores.*measure.value));
    }
    const DetectionScores& first = evaluation.detections[0].scores;
    table.note =
        fmt::format("{} rows, {} of them positive.", with_commas(first.count), with_commas(first.positives));
  }
  for (const std::string& name : evaluation.left_out)
    table.note += fmt::format(" {}: too little history.", name);
  return table;
}

std::optional<RunDescription::Table> table_by_step(const Evaluation& evaluation) {
  constexpr int most = 12;
  if (evaluation.forecasts.empty()) return {};
  const int horizon = evaluation.horizon;
  if (horizon == 1) return {};
  const ForecastMeasure& measure = summary_measure(static_cast<size_t>(evaluation.targets));
  RunDescription::Table table{
      .title = fmt::format("{} by step: {}", measure.name, evaluation.part), .note = {}, .columns = {"step"}};
  for (const ForecastRow& row : evaluation.forecasts) table.columns.push_back(row.name);
  const int lines = std::min(horizon, most);
  for (int k = 1; k <= lines; ++k) {
    const int step = (k * horizon + lines - 1) / lines;
    table.rows.push_back({std::to_string(step)});
    for (const ForecastRow& row : evaluation.forecasts)
      table.rows.back().push_back(figure(row.scores.at_step(step - 1).*measure.value));
  }
  return table;
}

std::vector<JudgedRow> judged_rows(const Evaluation& evaluation) {
  std::vector<JudgedRow> rows;
  for (const ForecastRow& row : evaluation.forecasts) {
    rows.push_back({.name = row.name});
    const ForecastErrors errors = row.scores.overall();
    for (const ForecastMeasure& measure : forecast_measures)
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
    for (const ForecastMeasure& measure : forecast_measures)
      comparison.measures.push_back({.name = measure.name, .key = measure.key});
  for (const JudgedRow& row : rows) {
    if (row.knows_labels) continue;
    if (&row != rows.data()) comparison.baselines.push_back(row.name);
    for (size_t k = 0; k < row.values.size(); ++k) comparison.measures[k].values.push_back(row.values[k]);
  }
  return comparison;
}

std::vector<std::string> verdicts(const Evaluation& evaluation) {
  std::vector<std::string> lines = verdicts(compare(judged_rows(evaluation), !evaluation.detections.empty()));
  if (!evaluation.detections.empty())
    if (const auto only = only_label(evaluation.detections[0].scores))
      lines.push_back(fmt::format("all labels here are {}: there is no balanced accuracy to compare", *only));
  return lines;
}

RunDescription::Figure tile_of(const Evaluation& evaluation) {
  const std::vector<JudgedRow> rows = judged_rows(evaluation);
  const bool detects = !evaluation.detections.empty();
  const Comparison comparison = compare(rows, detects);
  std::string key = summary_measure(static_cast<size_t>(evaluation.targets)).key;
  if (detects) key = only_label(evaluation.detections[0].scores) ? "accuracy" : "balanced_accuracy";
  const auto shown = std::ranges::find(comparison.measures, key, &Comparison::Measure::key);
  return {fmt::format("{}: {}", evaluation.part, shown->name), figure(shown->values[0]),
          verdict_beside(comparison, key)};
}

Json json_of(const Evaluation& evaluation) {
  Json json = Json::object();
  for (const ForecastRow& row : evaluation.forecasts) {
    const ForecastErrors errors = row.scores.overall();
    for (const ForecastMeasure& measure : forecast_measures)
      json[row.name][measure.key] = number(errors.*measure.value);
    json[row.name]["windows"] = row.scores.windows();
    json[row.name]["targets_left_out"] = evaluation.targets_left_out;
  }
  if (evaluation.interval)
    if (const auto coverage = evaluation.interval->coverage())
      json["the model"]["interval_coverage"] = *coverage;
  for (const DetectionRow& row : evaluation.detections) {
    for (const DetectionMeasure& measure : detection_measures)
      json[row.name][measure.key] = number(row.scores.*measure.value);
    json[row.name]["rows"] = row.scores.count;
  }
  if (json.contains("the model"))
    json["the model"].update(json_of(compare(judged_rows(evaluation), !evaluation.detections.empty())));
  return json;
}

}  // namespace timeseries
