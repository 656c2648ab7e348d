#include "scores.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "data/baselines.h"
#include "framework/kernels/kernels.h"
#include "training/signals.h"

namespace timeseries {

namespace {

using Json = nlohmann::ordered_json;

// "0.4213", "18.73", "1.2e+04"; empty: not defined.
std::string figure(double value) {
  if (std::isnan(value)) return "";
  const double size = std::abs(value);
  return size < 10    ? fmt::format("{:.4f}", value)
         : size < 1e5 ? fmt::format("{:.2f}", value)
                      : fmt::format("{:.4g}", value);
}

struct Measure {
  const char *name, *key;
  double ForecastErrors::*value;
};
constexpr Measure measures[] = {{"MSE scaled", "scaled_mse", &ForecastErrors::scaled_mse},
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
  std::vector<ForecastBaseline> rules = {last_value()};
  if (recipe.data.period > 1) {
    rules.push_back(seasonal_naive(recipe.data.period));
    if (is_positive(data.series(), data.targets())) rules.push_back(seasonal_growth(recipe.data.period));
  }
  rules.push_back(training_mean(data.series(), data.split.train));
  if (const int order = recipe.data.autoregression; order > 0) {
    if (can_fit_autoregression(data.split.train, order))
      rules.push_back(autoregression(data.series(), data.split.train, order, data.targets()));
    else  // of a shorter file than the model's own
      evaluation.left_out.push_back(fmt::format("autoregression ({})", order));
  }
  for (const ForecastBaseline& rule : rules) {
    const auto scores = score(rule, windows, data.mase_scale);
    if (scores)
      evaluation.forecasts.push_back({rule.name, *scores});
    else
      evaluation.left_out.push_back(rule.name);
  }
}

void add_detections(const SeriesData& data, const SeriesWindows& windows, Evaluation& evaluation) {
  for (const DetectionBaseline& rule :
       {majority_class(*data.train), threshold_rule(*data.train), logistic_regression(*data.train)})
    evaluation.detections.push_back({rule.name, score(rule, windows)});
  const DetectionBaseline previous = previous_label(*data.train);
  evaluation.detections.push_back({previous.name, score(previous, windows), true});
}

void require_finite(const Tensor& found, const SeriesWindows& windows, int64_t origin) {
  require_input(
      std::isfinite(kernels().sum_of_squares(found.data(), found.size())),
      "{}: the model's values from {} on are not finite: these rows, or its weights, are too large to compute with",
      windows.series().origin, windows.series().times.text(origin));
}

// Errors of the model (of its middle quantile) on all windows; `see` is called with each batch and all that was
// forecast, [quantiles, horizon, windows * targets].
template <class See>
ForecastScores score_model(const Recipe& recipe, const SeriesModel& model, SeriesWindows& windows,
                           const std::vector<double>& mase_scale, See see) {
  ForecastScores scores(windows, mase_scale);
  windows.in_order();
  for (int64_t k = 0; k < windows.batches(recipe.data.eval_batch); ++k) {
    stop_if_signalled();
    const SeriesBatch batch = windows.batch(k, recipe.data.eval_batch);
    const Tensor found = model.predict(batch.input);
    require_finite(found, windows, batch.origins.front());
    scores.add_scaled(batch.origins, found[recipe.middle_output()].to_host());
    see(batch, found);
  }
  return scores;
}

std::vector<double> half_widths(const ForecastScores& errors) {
  constexpr double of_80_percent = 1.2816;  // standard deviations of a normal distribution
  std::vector<double> half;
  for (int step = 0; step < errors.horizon(); ++step)
    for (int target = 0; target < errors.targets(); ++target)
      half.push_back(of_80_percent * errors.at(step, target).rmse);
  return half;
}

void add_model(const Recipe& recipe, const SeriesData& data, TestPart& part, const SeriesModel& model,
               Evaluation& evaluation) {
  const bool by_quantiles = recipe.has_quantiles(),
             by_valid = !by_quantiles && data.valid && part.name != "valid";
  if (by_quantiles) evaluation.interval.emplace();
  if (by_valid) {
    SeriesWindows valid = *data.valid;
    evaluation.interval = {
        half_widths(score_model(recipe, model, valid, {}, [](const SeriesBatch&, const Tensor&) {}))};
  }
  int64_t within = 0;
  const std::vector<int>& targets = data.targets();
  const auto count = [&](const SeriesBatch& batch, const Tensor& found) {
    if (!evaluation.interval) return;
    const size_t windows = batch.origins.size();
    const std::vector<real> truth = batch.target.to_host(),
                            forecast = found[recipe.middle_output()].to_host(), low = found[0].to_host(),
                            high = found[found.dim(0) - 1].to_host();
    for (size_t i = 0; i < truth.size(); ++i) {
      const size_t target = i % targets.size(), step = i / targets.size() / windows;
      const double error = static_cast<double>(forecast[i] - truth[i]) *
                           data.facts.scaling.scale[static_cast<size_t>(targets[target])];
      within += by_quantiles ? low[i] <= truth[i] && truth[i] <= high[i]
                             : std::abs(error) <= evaluation.interval->half[step * targets.size() + target];
    }
  };
  evaluation.forecasts.push_back(
      {"the model", score_model(recipe, model, part.windows, data.mase_scale, count)});
  if (evaluation.interval)
    evaluation.interval->coverage =
        static_cast<double>(within) / static_cast<double>(evaluation.forecasts[0].scores.overall().count);
}

}  // namespace

double mean_loss(const SeriesModel& model, SeriesWindows& windows, int size) {
  const NoTape guard;
  windows.in_order();
  double total = 0;
  int64_t count = 0;
  for (int64_t k = 0; k < windows.batches(size); ++k) {
    stop_if_signalled();
    const SeriesBatch batch = windows.batch(k, size);
    total += static_cast<double>(model.loss(batch).item()) * static_cast<double>(batch.target.size());
    count += batch.target.size();
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
                        .horizon = recipe.horizon(),
                        .targets = static_cast<int>(data.targets().size()),
                        .full = recipe.data.drop_last_pairs == 0};
  part.windows.in_order();
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
    for (const Measure& measure : measures) table.columns.push_back(measure.name);
    for (const ForecastRow& row : evaluation.forecasts) {
      table.rows.push_back({row.name});
      const ForecastErrors errors = row.scores.overall();
      for (const Measure& measure : measures) table.rows.back().push_back(figure(errors.*measure.value));
    }
    table.note = fmt::format("{} windows{}.", with_commas(evaluation.forecasts[0].scores.windows()),
                             evaluation.full ? ", none left out" : "");
    if (const auto& interval = evaluation.interval)
      table.note +=
          fmt::format(" Of their values {:.0f} % lie {}.", 100 * interval->coverage,
                      interval->half.empty()
                          ? "between the model's outer quantiles"
                          : "within the interval of 80 %, which is taken from the errors of the valid split");
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
  RunDescription::Table table{
      .title = fmt::format("RMSE by step: {}", evaluation.part), .note = {}, .columns = {"step"}};
  for (const ForecastRow& row : evaluation.forecasts) table.columns.push_back(row.name);
  const int lines = std::min(horizon, most);
  for (int k = 1; k <= lines; ++k) {
    const int step = (k * horizon + lines - 1) / lines;
    table.rows.push_back({std::to_string(step)});
    for (const ForecastRow& row : evaluation.forecasts)
      table.rows.back().push_back(figure(row.scores.at_step(step - 1).rmse));
  }
  return table;
}

std::vector<std::string> verdicts(const Evaluation& evaluation) {
  std::vector<std::string> words;
  const auto compare = [&](const std::string& measure, bool less_is_better, auto value, const auto& rows) {
    const double model = value(rows[0]);
    if (std::isnan(model)) {
      words.push_back(fmt::format("the model has no {} that a rule could be compared by", measure));
      return;
    }
    bool loses = false;
    for (size_t k = 1; k < rows.size(); ++k) {
      const double rule = value(rows[k]);
      if (std::isnan(rule) || (less_is_better ? model < rule : model > rule)) continue;
      words.push_back(fmt::format("the model {} {}: {} {}, the rule {}",
                                  model == rule ? "is no better than" : "loses to", rows[k].name, measure,
                                  figure(model), figure(rule)));
      loses = true;
    }
    if (!loses)
      words.push_back(fmt::format("the model is better than every rule: {} {}", measure, figure(model)));
  };
  if (!evaluation.forecasts.empty()) {
    // Several channels have units of their own: their errors add up scaled.
    const bool several = evaluation.targets > 1;
    compare(
        several ? "MSE scaled" : "RMSE", true,
        [&](const ForecastRow& row) {
          const ForecastErrors errors = row.scores.overall();
          return several ? errors.scaled_mse : errors.rmse;
        },
        evaluation.forecasts);
    return words;
  }
  std::vector<DetectionRow> rows = evaluation.detections;
  std::erase_if(rows, [](const DetectionRow& row) { return row.knows_labels; });
  compare(
      "accuracy", false, [](const DetectionRow& row) { return row.scores.accuracy; }, rows);
  if (const auto only = only_label(rows[0].scores))
    words.push_back(fmt::format("all labels here are {}: there is no balanced accuracy to compare", *only));
  else
    compare(
        "balanced accuracy", false, [](const DetectionRow& row) { return row.scores.balanced_accuracy; },
        rows);
  return words;
}

Json json_of(const Evaluation& evaluation) {
  Json json = Json::object();
  for (const ForecastRow& row : evaluation.forecasts) {
    const ForecastErrors errors = row.scores.overall();
    for (const Measure& measure : measures) json[row.name][measure.key] = number(errors.*measure.value);
    json[row.name]["windows"] = row.scores.windows();
  }
  if (evaluation.interval) json["the model"]["interval_coverage"] = evaluation.interval->coverage;
  for (const DetectionRow& row : evaluation.detections) {
    for (const auto& measure : detection_measures)
      json[row.name][measure.key] = number(row.scores.*measure.value);
    json[row.name]["rows"] = row.scores.count;
  }
  return json;
}

}  // namespace timeseries
