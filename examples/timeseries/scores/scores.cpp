#include "examples/timeseries/scores/scores.h"

#include <algorithm>
#include <limits>

#include "examples/timeseries/baselines/baselines.h"
#include "framework/one_line.h"
#include "framework/signals.h"

namespace timeseries {

namespace {

// Scores forecasts of a part, and gives them intervals.
class Scoring {
 public:
  Scoring(const Recipe& recipe, const SeriesData& data, TestPart& part, Evaluation& evaluation)
      : recipe_(recipe),
        data_(data),
        part_(part),
        evaluation_(evaluation),
        is_test_(part.name != "train" && part.name != "valid") {
    if (is_test_)
      valid_ = windows_if_any(recipe, data.series(), data.facts.scaling,
                              from_rows(data.split.valid, data.series(), data.first_untrained));
    is_clean_ = is_test_ && (valid_ || !recipe.validates());
  }

  void add_model(const SeriesModel& model, const ForecastUse& each);
  void add_baselines();
  // Adds baselines fitted to each series' own training rows, and scored on that series' windows, without intervals. A
  // baseline that does not suit every series with windows is left out, and named.
  void add_baselines_of_each_series();

 private:
  // Adds the scores of the model, with its interval, or of a baseline. False: too little history.
  bool add(const std::string& name, const Forecasts& forecasts, const ForecastUse& seen, bool is_model) {
    const int horizon = recipe_.data.horizon;
    const bool quantiles = is_model && has_quantile_interval(recipe_, horizon);
    ForecastInterval interval = make_interval(recipe_, data_.facts.trained, part_.windows, horizon, quantiles,
                                              has_quantile_interval(recipe_, horizon));
    if (valid_ && learn_from(interval, forecasts, *valid_, is_model))
      interval.errors_of = "the validation split";
    if (is_test_ && !interval.widths.is_pooled())
      interval.errors_of += interval.errors_of.empty() ? "the test split" : " and the test split";
    if (part_.name == "valid") interval.errors_of = "the validation split";
    ForecastScores scores(part_.windows, data_.mase_scale);
    std::vector<int64_t> first = data_.first_untrained;
    if (part_.name == "train") std::ranges::fill(first, std::numeric_limits<int64_t>::max());
    if (!score_with(interval, forecasts, part_.windows, first, is_clean_, scores, seen)) return false;
    evaluation_.forecasts.push_back({name, std::move(scores), interval.widths.options().level});
    if (is_model && (interval.coverage() || interval.widths.is_known() || quantiles))
      evaluation_.interval.emplace(std::move(interval));
    return true;
  }

  const Recipe& recipe_;
  const SeriesData& data_;
  TestPart& part_;
  Evaluation& evaluation_;
  bool is_test_;                        // else its rows trained the model, or helped to choose it
  std::optional<SeriesWindows> valid_;  // its errors set the first widths
  // Whether no row of the test helped to choose the model. Not known if the training file had other validation rows.
  bool is_clean_;
};

void Scoring::add_model(const SeriesModel& model, const ForecastUse& each) {
  FarOutside far(data_.facts.trained, data_.facts.scaling);
  const std::vector<int>& targets = data_.targets();
  const Series& series = data_.series();
  std::vector<WindowForecast>& drawn = evaluation_.drawn;
  const size_t most_drawn = recipe_.data.horizon == 1 ? 120 : 1;
  const Forecasts unbounded = forecasts_of(recipe_, model);
  const Forecasts forecasts = [&](SeriesWindows& windows, const ForecastUse& use) {
    return unbounded(windows, [&](WindowForecast& forecast) {
      for (size_t i = 0; &windows == &part_.windows && i < forecast.values.size(); ++i)
        far.look(forecast.values[i], targets[i % targets.size()],
                 forecast.origin + static_cast<int64_t>(i / targets.size()));
      use(forecast);
    });
  };
  const auto seen = [&](WindowForecast& forecast) {
    if (each) each(forecast);
    // With several series, only one is drawn.
    if (!drawn.empty() && series.member_of(drawn.back().origin) != series.member_of(forecast.origin))
      drawn.clear();
    if (drawn.size() == most_drawn) drawn.erase(drawn.begin());
    drawn.push_back(forecast);
  };
  add("the model", forecasts, seen, true);
  if (auto warning = far.warning(part_.windows.series(), FarOutside::forecasts);
      warning && evaluation_.warnings.empty())
    evaluation_.warnings.push_back(std::move(*warning));
}

void Scoring::add_baselines() {
  for (const ForecastBaseline& baseline :
       baselines_of({recipe_.data, data_.series(), data_.series().rows(), data_.split.train, data_.targets()},
                    evaluation_.left_out))
    if (!add(
            baseline.name, forecasts_of(baseline), [](WindowForecast&) {}, false))
      evaluation_.left_out.push_back(baseline.name + ": too little history");
    else if (!baseline.detail.empty())
      evaluation_.details.push_back(fmt::format("{}: {}", baseline.name, baseline.detail));
}

Part moved(Part part, int64_t by) {
  for (Span& span : part) span.begin -= by, span.end -= by, span.history -= by;
  return part;
}

void Scoring::add_baselines_of_each_series() {
  const Series& series = data_.series();
  struct Method {
    ForecastRow row;
    int series = 0;  // that it could forecast
  };
  std::vector<Method> methods;
  int scored = 0;
  const SeriesBounds bounds = bounds_of(recipe_, data_.facts.trained, part_.windows);
  for (int member = 0; member < series.count(); ++member) {
    const int64_t begin = series.begin_of(member), end = series.end_of(member);
    const Part train = moved(within(data_.split.train, begin, end), begin),
               own = moved(within(part_.rows, begin, end), begin);
    if (own.empty()) continue;
    const Series alone = series.alone(member);
    const auto windows = windows_if_any(recipe_, alone, data_.facts.scaling.of(member), own);
    if (!windows) continue;
    ++scored;
    if (train.empty()) continue;
    std::vector<std::string> left_out;
    for (const ForecastBaseline& baseline :
         baselines_of({recipe_.data, alone, alone.rows(), train, data_.targets()}, left_out)) {
      const auto of_name = [&](const Method& method) { return method.row.name == baseline.name; };
      auto method = std::ranges::find_if(methods, of_name);
      if (method == methods.end())
        method = methods.insert(method, {{baseline.name, ForecastScores(part_.windows, data_.mase_scale)}});
      if (method->series + 1 < scored) continue;  // it did not suit an earlier series
      method->series +=
          for_each_forecast(baseline, *windows, [&](int64_t origin, const std::vector<double>& forecast) {
            const int64_t of_all = begin + origin;
            std::vector<double> values = forecast;
            bounds.clamp(of_all, values);
            method->row.scores.add({&of_all, 1}, values);
          });
    }
  }
  for (Method& method : methods)
    if (method.series == scored)
      evaluation_.forecasts.push_back(std::move(method.row));
    else
      evaluation_.left_out.push_back(method.row.name + " of every series: too little history");
}

void add_detections(const SeriesModel* model, const Recipe& recipe, const SeriesData& data,
                    SeriesWindows& windows, Evaluation& evaluation) {
  if (model)
    evaluation.detections.push_back(
        {"the model", score_detection(detect(recipe, *model, windows), window_labels(windows))});
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
  if (auto warning = far.warning(windows.series(), FarOutside::inputs))
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
      recipe.data.window, plural(recipe.data.window), recipe.horizon(), data.targets().size(),
      plural(data.targets().size()));
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
            const NoTape guard;
            const double mean = static_cast<double>(model.loss(batch).mean.item());
            return {mean * static_cast<double>(batch.observed), batch.observed};
          },
          .score = [](const ScoreSum& sum) { return sum.total / static_cast<double>(sum.count); }};
}

std::vector<double> detect(const Recipe& recipe, const SeriesModel& model, SeriesWindows& windows) {
  std::vector<double> probabilities;
  forecasts_of(recipe, model)(windows, [&](WindowForecast& of) { probabilities.push_back(of.values[0]); });
  return probabilities;
}

Evaluation evaluate(const Recipe& recipe, const SeriesData& data, TestPart& part, const SeriesModel* model,
                    const ForecastUse& each) {
  Evaluation evaluation{.part = part.name, .recipe = recipe, .data = data};
  part.windows.in_order();
  evaluation.targets_left_out = part.windows.targets_left_out();
  evaluation.protocol = protocol_of(recipe, data, part, model != nullptr);
  if (model) warn_of_far_values(data, part.windows, evaluation);
  if (recipe.detects()) {
    add_detections(model, recipe, data, part.windows, evaluation);
    return evaluation;
  }
  Scoring scoring(recipe, data, part, evaluation);
  if (model) scoring.add_model(*model, each);
  evaluation.members().empty() ? scoring.add_baselines() : scoring.add_baselines_of_each_series();
  return evaluation;
}

}  // namespace timeseries
