#include "examples/timeseries/scores/scores.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "examples/timeseries/baselines/baselines.h"
#include "examples/timeseries/scores/many_series.h"
#include "framework/signals.h"

namespace timeseries {

namespace {

// Scores forecasts of a part, and gives them intervals.
struct Scoring {
  const Recipe& recipe;
  const SeriesData& data;
  TestPart& part;
  bool is_test = true;                      // else its rows trained the model, or helped to choose it
  std::optional<SeriesWindows> valid = {};  // its errors set the first widths
  // Whether no row of the test helped to choose the model. Not known if the training file had other validation rows.
  bool is_clean = false;
  Scoring(const Recipe& recipe, const SeriesData& data, TestPart& part)
      : recipe(recipe), data(data), part(part), is_test(part.name != "train" && part.name != "valid") {
    if (is_test)
      valid = windows_if_any(recipe, data.series(), data.facts.scaling,
                             from_rows(data.split.valid, data.series(), data.first_untrained));
    is_clean = is_test && (valid || !recipe.validates());
  }

  // Scores the model or a baseline, and sets its interval if it has one. None: too little history.
  std::optional<ForecastScores> score(const Forecasts& forecasts, bool is_model,
                                      std::optional<ForecastInterval>& interval, const ForecastUse& seen) {
    const int horizon = recipe.data.horizon;
    const bool quantiles = is_model && has_quantile_interval(recipe, horizon);
    interval = make_interval(recipe, data.facts.trained, part.windows, horizon, quantiles);
    if (valid && learn_from(*interval, forecasts, *valid, is_model))
      interval->errors_of = "the validation split";
    if (is_test && !interval->widths.is_pooled())
      interval->errors_of += interval->errors_of.empty() ? "the test split" : " and the test split";
    if (part.name == "valid") interval->errors_of = "the validation split";
    ForecastScores scores(part.windows, data.mase_scale);
    std::vector<int64_t> first = data.first_untrained;
    if (part.name == "train") std::ranges::fill(first, std::numeric_limits<int64_t>::max());
    if (!score_with(*interval, forecasts, part.windows, first, is_clean, scores, seen)) return {};
    if (!interval->coverage() && !interval->widths.is_known() && !quantiles) interval.reset();
    return scores;
  }
};

void add_forecasts(const Recipe& recipe, const SeriesData& data, Scoring& scoring, Evaluation& evaluation) {
  for (const ForecastBaseline& baseline :
       baselines_of({recipe.data, data.series(), data.series().rows(), data.split.train, data.targets()},
                    evaluation.left_out)) {
    std::optional<ForecastInterval> interval;
    const auto scores = scoring.score(forecasts_of(baseline), false, interval, [](WindowForecast&) {});
    if (!scores) {
      evaluation.left_out.push_back(baseline.name + ": too little history");
      continue;
    }
    evaluation.forecasts.push_back(
        {baseline.name, *scores, interval ? interval->widths.options().level : 0.8});
    if (!baseline.detail.empty())
      evaluation.details.push_back(fmt::format("{}: {}", baseline.name, baseline.detail));
  }
}

void add_detections(const SeriesModel* model, const Recipe& recipe, const SeriesData& data,
                    SeriesWindows& windows, Evaluation& evaluation) {
  if (model)
    evaluation.detections.push_back(
        {"the model",
         score_detection(detect(*model, windows, recipe.data.eval_batch), window_labels(windows))});
  for (const DetectionBaseline& baseline :
       {majority_class(*data.train), threshold_baseline(*data.train), logistic_regression(*data.train)})
    evaluation.detections.push_back({baseline.name, score(baseline, windows)});
  const DetectionBaseline previous = previous_label(*data.train);
  evaluation.detections.push_back({previous.name, score(previous, windows), true});
}

// Warns of inputs and targets far outside of the training values.
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
  const Forecasts unbounded = forecasts_of(scoring.recipe, model);
  const Forecasts forecasts = [&](SeriesWindows& windows, const ForecastUse& use) {
    return unbounded(windows, [&](WindowForecast& forecast) {
      for (size_t i = 0; &windows == &scoring.part.windows && i < forecast.values.size(); ++i)
        far.look(forecast.values[i], targets[i % targets.size()],
                 forecast.origin + static_cast<int64_t>(i / targets.size()));
      use(forecast);
    });
  };
  auto scores = scoring.score(forecasts, true, evaluation.interval, [&](WindowForecast& forecast) {
    if (each) each(forecast);
    const Series& series = data.series();  // with several series, only one is drawn
    if (!evaluation.drawn.empty() &&
        series.member_of(evaluation.drawn.back().origin) != series.member_of(forecast.origin))
      evaluation.drawn.clear();
    if (evaluation.drawn.size() == drawn) evaluation.drawn.pop_front();
    evaluation.drawn.push_back(forecast);
  });
  evaluation.forecasts.push_back({"the model", std::move(*scores),
                                  evaluation.interval ? evaluation.interval->widths.options().level : 0.8});
  if (auto warning = far.warning_of_forecasts(scoring.part.windows.series());
      warning && evaluation.warnings.empty())
    evaluation.warnings.push_back(std::move(*warning));
}

// The conditions that a reader needs to reproduce the table.
std::string protocol_of(const Recipe& recipe, const SeriesData& data, const TestPart& part, bool with_model) {
  const char* const scaled = recipe.scaling.kind == ScalingKind::standard ? "mean and standard deviation"
                             : recipe.scaling.kind == ScalingKind::minmax ? "least and most"
                                                                          : "";
  const int64_t left_out = part.windows.targets_left_out();
  std::string text = fmt::format(
      "{} windows{}, each {} row{} to {} of {} channel{}; ", with_commas(part.windows.count()),
      data.facts.members.empty()
          ? ""
          : fmt::format(" of {} series, scaled each by itself", with_commas(data.series().count())),
      recipe.data.window, recipe.data.window == 1 ? "" : "s", recipe.horizon(), data.targets().size(),
      data.targets().size() == 1 ? "" : "s");
  if (recipe.scaling.transform == Transform::log) text += "logarithms; ";
  text += *scaled ? fmt::format("scaled by {} of the rows that train; ", scaled) : "not scaled; ";
  if (with_model) text += fmt::format("seed {}; ", recipe.training.seed);
  return text + (left_out > 0 ? fmt::format("left out: {} values that were filled in", with_commas(left_out))
                              : "nothing left out");
}

}  // namespace

SharedScore mean_loss(const SeriesModel& model, SeriesWindows& windows, int size) {
  return {.parts = windows.batches(size),
          .sum = [&model, &windows, size](int64_t k) -> ScoreSum {
            stop_if_signalled();
            windows.in_order();
            const SeriesBatch batch = windows.batch(k, size);
            return {model.loss_of(batch) * static_cast<double>(batch.observed), batch.observed};
          },
          .score = [](const ScoreSum& sum) { return sum.total / static_cast<double>(sum.count); }};
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

Evaluation evaluate(const Recipe& recipe, const SeriesData& data, TestPart& part, const SeriesModel* model,
                    const ForecastUse& each) {
  Evaluation evaluation{.part = part.name,
                        .recipe = &recipe,
                        .horizon = recipe.horizon(),
                        .targets = static_cast<int>(data.targets().size())};
  part.windows.in_order();
  evaluation.targets_left_out = part.windows.targets_left_out();
  evaluation.protocol = protocol_of(recipe, data, part, model != nullptr);
  if (model) warn_of_far_values(data, part.windows, evaluation);
  if (recipe.detects()) {
    add_detections(model, recipe, data, part.windows, evaluation);
    return evaluation;
  }
  for (const int target : data.targets()) evaluation.channels.push_back(data.series().channels[target]);
  evaluation.members = data.facts.members;
  Scoring scoring(recipe, data, part);
  if (model) add_model(*model, scoring, each, evaluation);
  if (evaluation.members.empty())
    add_forecasts(recipe, data, scoring, evaluation);
  else
    add_forecasts_of_each(recipe, data, part, evaluation);
  return evaluation;
}

}  // namespace timeseries
