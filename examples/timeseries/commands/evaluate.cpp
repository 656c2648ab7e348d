// timeseries evaluate: scores a saved model on a split of its series, and the baselines with it.
#include <cmath>

#include "data/csv.h"
#include "examples/timeseries/commands/commands.h"
#include "examples/timeseries/model/saved_model.h"
#include "examples/timeseries/recipe/options.h"
#include "examples/timeseries/scores/scores.h"
#include "framework/clock.h"
#include "framework/gemm.h"
#include "training/files/atomic_file.h"
#include "training/files/json/json.h"
#include "training/program/cli/console.h"
#include "training/program/run/machine.h"

namespace timeseries {

namespace {

// A forecast's rows of a CSV: a line for each step and channel. Filled-in values have no truth.
std::string csv_of(const WindowForecast& forecast, const Series& series, const std::vector<int>& targets) {
  const auto end = [](double value) { return std::isnan(value) ? std::string() : fmt::format("{}", value); };
  const std::string of_series =
      series.members.empty() ? "" : csv_cell(series.members[series.member_of(forecast.origin)].name) + ",";
  const std::string origin = of_series + series.times.text(forecast.origin);
  std::string text;
  for (size_t i = 0; i < forecast.values.size(); ++i) {
    const auto step = static_cast<int64_t>(i / targets.size());
    const int64_t row = forecast.origin + step;
    const int channel = targets[i % targets.size()];
    text += fmt::format("{},{},{},{},{},{},{},{}\n", origin, step + 1, series.times.text(row),
                        csv_cell(series.channels[channel]),
                        series.is_filled(row, channel) ? "" : fmt::format("{}", series.at(row, channel)),
                        forecast.values[i], end(forecast.low[i]), end(forecast.high[i]));
  }
  return text;
}

// The parts of a split by its name; "test" may have several, by file.
std::vector<TestPart> parts_of(const Recipe& recipe, const SeriesData& data, const std::string& split) {
  if (split == "test") return data.tests;
  if (split == "train")  // every window, even if training strides over some
    return {{split, make_windows(recipe, data.series(), data.facts.scaling, data.split.train, split),
             data.split.train}};
  require_input(data.valid.has_value(), "there are no rows that validate");
  return {{split, *data.valid, data.split.valid}};
}

// Prints and returns the scores by part.
nlohmann::ordered_json scores_of(const Console& console, const Recipe& recipe, const SeriesData& data,
                                 std::vector<TestPart>& parts, const SeriesModel* model,
                                 const ForecastUse& each = {}) {
  nlohmann::ordered_json scores = nlohmann::ordered_json::object();
  for (TestPart& part : parts) {
    const Evaluation evaluation = evaluate(recipe, data, part, model, each);
    print(console, evaluation, model != nullptr);
    scores[part.name] = json_of(evaluation);
  }
  return scores;
}

RunResult result_of(const SavedModel& saved, const SeriesModel& model, int64_t count, double seconds) {
  return {.recipe = saved.recipe.name,
          .engine = model.recurrent() ? std::string(name_of(model.recurrent()->choice().engine)) : "none",
          .precision = name_of(precision()),
          .seed = saved.recipe.training.seed,
          .parameters = model.params.count(),
          .count = count,
          .seconds = seconds,
          .rate = static_cast<double>(count) / seconds};
}

}  // namespace

void evaluate(Command& command) {
  std::string csv, split = "test", out;
  Machine machine;
  bool json = false;
  command.describe(
      "Scores a trained model on a split of its series, every window of it, beside the baselines on the "
      "same windows. The series is scaled as it was in training. Products are in fp32, also for a model that "
      "trained in another precision.");
  add_checkpoint(command);
  add_csv_option(command, csv);
  command.option("split", split, "NAME", "the split to score").one_of({"valid", "test", "train"});
  machine.add_to(command);
  command.option(
      "out", out, "FILE",
      "a CSV file of every forecast: the series where there are several, origin (the time of its first step), step, time, channel, truth, "
      "forecast, low and high; it must not exist");
  add_json_option(command, json);
  command.example("evaluate runs/airline-1/best.safetensors", "the table that training ended with");
  command.example("evaluate model.safetensors --csv ETTh1.csv --json", "for a script to read");
  if (!command.parse()) return;
  require_new("evaluate", out);
  machine.set_up(command);
  const Console console{.out = json ? stderr : stdout};
  const SavedModel saved = read_saved_model(command.positional());
  require_input(
      out.empty() || !saved.recipe.detects(),
      "evaluate: --out writes forecasts, and the model of {} detects; 'timeseries detect' writes what it finds",
      saved.path.string());
  SeriesData data(saved.recipe, csv, {.model = &saved, .trains = false});
  for (std::string& warning : warnings_of_training(data, split)) data.warnings.push_back(std::move(warning));
  const auto model = saved.make_model(*data.train);
  print_notes(console, data);

  const double begin = clock_seconds();
  std::vector<TestPart> parts = parts_of(saved.recipe, data, split);
  std::string forecasts = data.series().members.empty() ? "" : "series,";
  forecasts += "origin,step,time,channel,truth,forecast,low,high\n";
  const auto write = [&](WindowForecast& forecast) {
    forecasts += csv_of(forecast, data.series(), data.targets());
  };
  const auto scores = scores_of(console, saved.recipe, data, parts, model.get(),
                                out.empty() ? ForecastUse() : ForecastUse(write));
  if (!out.empty()) write_new_file(out, forecasts);
  if (!json) return;
  int64_t count = 0;
  for (const TestPart& part : parts) count += part.windows.count();
  result_of(saved, *model, count, clock_seconds() - begin)
      .print_json("windows", "windows_per_second", {{"scores", scores}});
}

void baselines(Command& command) {
  std::string csv, split = "test";
  bool json = false;
  RecipeOptions options = recipe_options();
  command.describe(fmt::format(
      "Scores the baselines on the windows that a recipe's model would be scored on: {}; to detect, the "
      "majority class, a threshold of one channel, logistic regression. A model that does not beat them has "
      "learnt nothing.",
      fmt::join(words_of(forecast_baselines), ", ")));
  options.add_with_recipe(command, {.engine = false});
  command.group("Series");
  add_csv_option(command, csv);
  command.option("split", split, "NAME", "the split to score").one_of({"valid", "test", "train"});
  command.group("Output");
  add_json_option(command, json);
  command.example("baselines airline", "the rows that a model of the airline passengers has to beat");
  command.example("baselines etth1 --csv ETTh1.csv --set data.horizon=720", "of another horizon");
  if (!command.parse()) return;
  const Recipe recipe = load_recipe(command.positional(), options.overrides(command));
  const SeriesData data(recipe, csv);
  const Console console{.out = json ? stderr : stdout};
  print_notes(console, data);
  std::vector<TestPart> parts = parts_of(recipe, data, split);
  const auto scores = scores_of(console, recipe, data, parts, nullptr);
  if (json) show("{}\n", json_text(scores));
}

}  // namespace timeseries
