#include "scores.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

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
// Of what has intervals; in a table of their own.
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

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

// What can be 0 or less has no growth.
bool is_positive(const Series& series, const std::vector<int>& channels) {
  for (int64_t row = 0; row < series.rows(); ++row)
    for (const int channel : channels)
      if (series.at(row, channel) <= 0) return false;
  return true;
}

std::vector<ForecastBaseline> baselines_of(const Recipe& recipe, const SeriesData& data,
                                           std::vector<std::string>& left_out) {
  std::vector<ForecastBaseline> baselines = {last_value(), drift()};
  const bool positive = is_positive(data.series(), data.targets());
  for (const int64_t period : {recipe.data.period, recipe.data.second_period}) {
    if (period <= 1) continue;
    baselines.push_back(seasonal_naive(period));
    if (positive) baselines.push_back(seasonal_growth(period));
  }
  baselines.push_back(training_mean(data.series(), data.split.train));
  if (const int order = recipe.data.autoregression; order > 0) {
    if (can_fit_autoregression(data.series(), data.split.train, order, data.targets()))
      baselines.push_back(autoregression(data.series(), data.split.train, order, data.targets()));
    else  // of a shorter file than the model's own
      left_out.push_back(fmt::format("autoregression ({})", order));
  }
  const auto add_fitted = [&](bool asked_for, auto fit, const char* name) {
    if (!asked_for) return;
    if (auto fitted = fit(data.series(), data.split.train, recipe.data.period, data.targets()))
      baselines.push_back(std::move(*fitted));
    else
      left_out.push_back(name);
  };
  add_fitted(recipe.data.ets, ets, "ETS");
  add_fitted(recipe.data.theta, theta, "Theta");
  return baselines;
}

// A part, and how intervals of its forecasts come about.
struct Scoring {
  const Recipe& recipe;
  const SeriesData& data;
  TestPart& part;
  bool is_test = true;                      // else its rows trained what forecasts, or chose it
  std::optional<SeriesWindows> valid = {};  // whose errors set the first widths
  bool is_clean =
      false;  // a test that chose nothing: not so where the file of training had other rows to validate on
  TrainedOn trained;
  Scoring(const Recipe& recipe, const SeriesData& data, TestPart& part)
      : recipe(recipe),
        data(data),
        part(part),
        is_test(part.name != "train" && part.name != "valid"),
        trained(with_range(data.facts.trained, data.series(), data.split.train)) {
    if (is_test)
      valid = windows_if_any(recipe, data.series(), data.facts.scaling,
                             from_row(data.split.valid, data.first_untrained));
    is_clean = is_test && (valid || !recipe.validates());
  }

  // Of the model, or of a baseline: its scores, and its interval if it has one. None: too little history.
  std::optional<ForecastScores> score(const Forecasts& forecasts, bool is_model,
                                      std::optional<ForecastInterval>& interval, const ForecastUse& seen) {
    const int horizon = recipe.data.horizon;
    const bool quantiles = is_model && has_quantile_interval(recipe, horizon);
    interval = make_interval(recipe, trained, part.windows, horizon, quantiles);
    if (valid && learn_from(*interval, forecasts, *valid, is_model))
      interval->errors_of = "the validation split";
    if (is_test)
      interval->errors_of += interval->errors_of.empty() ? "the test split" : " and the test split";
    if (part.name == "valid") interval->errors_of = "the validation split";
    ForecastScores scores(part.windows, data.mase_scale);
    const int64_t first = part.name == "train" ? std::numeric_limits<int64_t>::max() : data.first_untrained;
    if (!score_with(*interval, forecasts, part.windows, first, is_clean, scores, seen)) return {};
    if (!interval->coverage() && !interval->widths.is_known() && !quantiles) interval.reset();
    return scores;
  }
};

void add_forecasts(const Recipe& recipe, const SeriesData& data, Scoring& scoring, Evaluation& evaluation) {
  for (const ForecastBaseline& baseline : baselines_of(recipe, data, evaluation.left_out)) {
    std::optional<ForecastInterval> interval;
    const auto scores = scoring.score(forecasts_of(baseline), false, interval, [](WindowForecast&) {});
    if (!scores) {
      evaluation.left_out.push_back(baseline.name);
      continue;
    }
    evaluation.forecasts.push_back(
        {baseline.name, *scores, interval ? interval->widths.options().level : 0.8});
    if (!baseline.detail.empty())
      evaluation.details.push_back(fmt::format("{}: {}", baseline.name, baseline.detail));
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

void add_model(const SeriesModel& model, Scoring& scoring, const ForecastUse& each, Evaluation& evaluation) {
  const SeriesData& data = scoring.data;
  FarOutside far(data.facts.trained, data.facts.scaling);
  const std::vector<int>& targets = data.targets();
  const size_t drawn = scoring.recipe.data.horizon == 1 ? most_drawn : 1;
  auto scores = scoring.score(forecasts_of(scoring.recipe, model), true, evaluation.interval,
                              [&](WindowForecast& forecast) {
                                for (size_t i = 0; i < forecast.values.size(); ++i)
                                  far.look(forecast.values[i], targets[i % targets.size()],
                                           forecast.origin + static_cast<int64_t>(i / targets.size()));
                                if (each) each(forecast);
                                if (evaluation.drawn.size() == drawn) evaluation.drawn.pop_front();
                                evaluation.drawn.push_back(forecast);
                              });
  evaluation.forecasts.push_back({"the model", std::move(*scores),
                                  evaluation.interval ? evaluation.interval->widths.options().level : 0.8});
  if (auto warning = far.warning_of_forecasts(scoring.part.windows.series());
      warning && evaluation.warnings.empty())
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

namespace {

// What a reader must know to make the same table.
std::string protocol_of(const Recipe& recipe, const SeriesData& data, const TestPart& part, bool with_model) {
  const char* const scaled = recipe.scaling.kind == ScalingKind::standard ? "mean and standard deviation"
                             : recipe.scaling.kind == ScalingKind::minmax ? "least and most"
                                                                          : "";
  const int64_t left_out = part.windows.targets_left_out();
  std::string text =
      fmt::format("{} windows, each {} row{} to {} of {} channel{}; ", with_commas(part.windows.count()),
                  recipe.data.window, recipe.data.window == 1 ? "" : "s", recipe.horizon(),
                  data.targets().size(), data.targets().size() == 1 ? "" : "s");
  text += *scaled ? fmt::format("scaled by {} of {}; ", scaled,
                                recipe.scaling.fit == ScalingFit::all ? "all rows" : "the rows that train")
                  : "not scaled; ";
  if (with_model) text += fmt::format("seed {}; ", recipe.training.seed);
  std::vector<std::string> out;
  if (recipe.data.drop_last_pairs > 0)
    out.push_back(fmt::format("{} pairs of each part's end", recipe.data.drop_last_pairs));
  if (left_out > 0) out.push_back(fmt::format("{} values that were filled in", with_commas(left_out)));
  return text + (out.empty() ? "nothing left out" : fmt::format("left out: {}", fmt::join(out, ", ")));
}

}  // namespace

Evaluation evaluate(const Recipe& recipe, const SeriesData& data, TestPart& part, const SeriesModel* model,
                    const ForecastUse& each) {
  Evaluation evaluation{.part = part.name,
                        .recipe = &recipe,
                        .horizon = recipe.horizon(),
                        .targets = static_cast<int>(data.targets().size()),
                        .full = recipe.data.drop_last_pairs == 0};
  part.windows.in_order();
  evaluation.targets_left_out = part.windows.targets_left_out();
  evaluation.protocol = protocol_of(recipe, data, part, model != nullptr);
  if (model) warn_of_far_values(data, part.windows, evaluation);
  if (recipe.detects()) {
    if (model)
      evaluation.detections.push_back(
          {"the model", score_detection(detect(*model, part.windows, recipe.data.eval_batch),
                                        window_labels(part.windows))});
    add_detections(data, part.windows, evaluation);
  } else {
    Scoring scoring(recipe, data, part);
    if (model) add_model(*model, scoring, each, evaluation);
    add_forecasts(recipe, data, scoring, evaluation);
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
  for (const std::string& detail : evaluation.details) table.note += fmt::format(" {}.", detail);
  for (const std::string& name : evaluation.left_out)
    table.note += fmt::format(" {}: too little history.", name);
  return table;
}

namespace {

// At most 12 of them, from 1.
std::vector<int> shown_steps(int horizon) {
  constexpr int most = 12;
  const int lines = std::min(horizon, most);
  std::vector<int> steps;
  for (int k = 1; k <= lines; ++k) steps.push_back((k * horizon + lines - 1) / lines);
  return steps;
}

// The model and the baselines.
std::optional<RunDescription::Table> table_by_step(const Evaluation& evaluation) {
  const int horizon = evaluation.horizon;
  if (horizon == 1) return {};
  const ForecastMeasure& measure = summary_measure(static_cast<size_t>(evaluation.targets));
  RunDescription::Table table{
      .title = fmt::format("{} by step: {}", measure.name, evaluation.part), .note = {}, .columns = {"step"}};
  for (const ForecastRow& row : evaluation.forecasts) table.columns.push_back(row.name);
  for (const int step : shown_steps(horizon)) {
    table.rows.push_back({std::to_string(step)});
    for (const ForecastRow& row : evaluation.forecasts)
      table.rows.back().push_back(figure(row.scores.at_step(step - 1).*measure.value));
  }
  return table;
}

}  // namespace

namespace {

// Of the model and of baselines: what their intervals hold, and what they cost.
std::optional<RunDescription::Table> table_of_intervals(const Evaluation& evaluation) {
  RunDescription::Table table{.title = "Intervals: " + evaluation.part,
                              .note = {},
                              .columns = {"", "coverage", "Winkler scaled", "pinball scaled"}};
  double level = 0;
  for (const ForecastRow& row : evaluation.forecasts) {
    const ForecastErrors errors = row.scores.overall();
    if (errors.intervals == 0) continue;
    level = row.level;
    table.rows.push_back({row.name, fmt::format("{:.1f} %", 100 * errors.coverage)});
    for (const ForecastMeasure& measure : interval_measures)
      table.rows.back().push_back(figure(errors.*measure.value));
  }
  if (table.rows.empty()) return {};
  const bool same =
      std::ranges::all_of(evaluation.forecasts, [&](const ForecastRow& row) { return row.level == level; });
  table.note = same ? fmt::format("Each is meant for {:.0f} %", 100 * level)
                    : fmt::format("The model's is meant for {:.0f} %, a baseline's for {:.0f} %",
                                  100 * evaluation.forecasts[0].level, 100 * level);
  table.note +=
      ". Winkler: the mean width, and what lies outside of it; pinball: of both ends and of the forecast.";
  return table;
}

// Of the model, by step and by channel.
std::optional<RunDescription::Table> table_of_coverage(const Evaluation& evaluation, const SeriesData& data) {
  const ForecastRow& model = evaluation.forecasts[0];
  if (model.scores.overall().intervals == 0 || (evaluation.horizon == 1 && evaluation.targets == 1))
    return {};
  RunDescription::Table table{.title = "The model's interval by step and channel: " + evaluation.part,
                              .note = {},
                              .columns = {"", "coverage", "Winkler scaled", "pinball scaled"}};
  const auto add = [&](std::string name, const ForecastErrors& errors) {
    table.rows.push_back({std::move(name), fmt::format("{:.1f} %", 100 * errors.coverage)});
    for (const ForecastMeasure& measure : interval_measures)
      table.rows.back().push_back(figure(errors.*measure.value));
  };
  if (evaluation.horizon > 1)
    for (const int step : shown_steps(evaluation.horizon))
      add(fmt::format("step {}", step), model.scores.at_step(step - 1));
  constexpr int most = 12;
  for (int target = 0; target < std::min(most, evaluation.targets) && evaluation.targets > 1; ++target)
    add(data.series().channels[static_cast<size_t>(data.targets()[static_cast<size_t>(target)])],
        model.scores.of_target(target));
  return table;
}

}  // namespace

std::vector<RunDescription::Table> further_tables(const Evaluation& evaluation, const SeriesData& data,
                                                  bool with_model) {
  std::vector<RunDescription::Table> tables;
  const auto add = [&](std::optional<RunDescription::Table> table) {
    if (table) tables.push_back(std::move(*table));
  };
  if (evaluation.forecasts.empty()) return tables;
  add(table_by_step(evaluation));
  add(table_of_intervals(evaluation));
  if (with_model) add(table_of_coverage(evaluation, data));
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
  // Where nothing has an interval, there is nothing to say about them.
  std::erase_if(comparison.measures, [](const Comparison::Measure& measure) {
    return std::ranges::find(interval_measures, measure.key, &ForecastMeasure::key) !=
               std::end(interval_measures) &&
           std::ranges::all_of(measure.values, [](double value) { return std::isnan(value); });
  });
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
    if (errors.intervals > 0) {
      json[row.name]["coverage"] = errors.coverage;
      for (const ForecastMeasure& measure : interval_measures)
        json[row.name][measure.key] = number(errors.*measure.value);
      for (int step = 0; step < evaluation.horizon; ++step)
        json[row.name]["coverage_by_step"].push_back(number(row.scores.at_step(step).coverage));
    }
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
  if (json.contains("the model")) json["the model"]["protocol"] = evaluation.protocol;
  if (json.contains("the model"))
    json["the model"].update(json_of(compare(judged_rows(evaluation), !evaluation.detections.empty())));
  return json;
}

}  // namespace timeseries
