// timeseries forecast: a trained model's forecast of the rows after the last one.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <initializer_list>
#include <unordered_set>

#include "data/csv.h"
#include "examples/timeseries/commands/commands.h"
#include "examples/timeseries/commands/forecaster.h"
#include "examples/timeseries/commands/model_or_series.h"
#include "examples/timeseries/files/series_file.h"
#include "framework/signals.h"
#include "training/program/cli/console.h"

namespace timeseries {

namespace {

namespace fs = std::filesystem;

// A value to six digits of its channel's scale, about what a float32 model resolves, and at least six of its own:
// 123456789.12345 at a deviation of 3.
std::string number(double value, double scale) {
  if (std::isnan(value)) return "";  // no interval
  const auto place = [](double x) { return static_cast<int>(std::floor(std::log10(std::abs(x)))); };
  const int above = value == 0 || !std::isfinite(value) ? 0 : place(value) - place(scale);
  return fmt::format("{:.{}g}", value, 6 + std::clamp(above, 0, 11));  // a double has 17 digits
}

// Columns: time, then for each target its value and, if known, its interval. Names are unique: targets keep theirs,
// and each other column takes the first free name of its choices. `names`: the first column names the series.
std::string header_of(const Series& series, const std::vector<int>& targets, bool interval, bool names) {
  std::unordered_set<std::string> taken;
  if (names) taken.insert(series.id_name);
  for (const int target : targets) taken.insert(series.channels[target]);
  const auto free_name = [&](std::initializer_list<std::string> choices) {
    for (const std::string& name : choices)
      if (!name.empty() && taken.insert(name).second) return name;
    std::string name = *std::rbegin(choices);
    while (!taken.insert(name).second) name += '_';
    return name;
  };
  std::string text = names ? csv_cell(series.id_name) + "," : "";
  text += csv_cell(free_name({"time", series.time_name, "row"}));
  for (const int target : targets) {
    const std::string& name = series.channels[target];
    text += "," + csv_cell(name);
    for (const char* end : {"low", "high"})
      if (interval) text += "," + csv_cell(free_name({name + "_" + end, name + "_interval_" + end}));
  }
  return text;
}

std::string csv_of(const Forecaster& forecaster, const Forecast& forecast, bool names) {
  const Series& series = forecaster.series();
  const auto& targets = forecaster.targets();
  const bool interval = !forecast.low.empty();
  const int member = series.member_of(forecast.origin);
  std::string text;
  for (int step = 0; step < forecaster.steps(); ++step) {
    if (names) text += csv_cell(series.members[member].name) + ",";
    text += series.times.text(forecast.origin + step);
    for (size_t t = 0; t < targets.size(); ++t) {
      const size_t at = static_cast<size_t>(step) * targets.size() + t;
      const Scaling& scaling = forecaster.scaling();
      const double scale = scaling.scale[scaling.place(targets[t], member)];
      text += "," + number(forecast.values[at], scale);
      if (interval) text += "," + number(forecast.low[at], scale) + "," + number(forecast.high[at], scale);
    }
    text += '\n';
  }
  return text;
}

void require_future(bool reads_none, const fs::path& future, const fs::path& of) {
  require_input(future.empty() || !reads_none,
                "forecast: --future {}: the model of {} reads no column of the rows to forecast (data.known)",
                future.string(), of.string());
}

// "series 'north': ". "": there is one series.
std::string name_of_series(const Series& series, int64_t row) {
  return series.members.empty()
             ? ""
             : fmt::format("series '{}': ", one_line(series.members[series.member_of(row)].name));
}

struct ForecastOptions : ModelOrSeries {
  std::string future;
  int steps = 0;
};

void declare(Command& command, ForecastOptions& asked) {
  command.describe(
      "Forecasts the rows after the last one of a series. Beyond its horizon a model goes on from its own "
      "forecasts. The interval is as wide as its forecasts of the validation split and of the test were wrong; of "
      "a model with quantiles it lies between these, widened or narrowed likewise. Beside it stands the share of "
      "the test's values within it. With a series alone, FILE.csv in the model's place, it guesses a recipe, says "
      "each guess, trains an ensemble on rolling folds and then on all rows, within a budget of time, and keeps "
      "no model; the interval is as wide as the forecasts of the folds were wrong. A model of several series (data.id) "
      "forecasts each of them, also those that it was not trained on, or the one that --series names.");
  asked.add_model(command);
  command.option("steps", asked.steps, "N", "rows to forecast").otherwise("the model's horizon, or guessed");
  command.option("future", asked.future, "FILE",
                 "a CSV file of what is known of the rows to forecast: times, and the columns of data.known");
  command.option("series", asked.only, "NAME", "the one of several series that is forecast")
      .otherwise("all; the first is drawn");
  asked.add_output(command, "draws history, forecast and interval, as SVG",
                   "writes the forecast as CSV, in place of printing it");
  command.example("forecast sales.csv --column units --steps 14 --out next.csv --plot next.svg",
                  "without a recipe or a model: an ensemble within a minute");
  command.example("forecast runs/airline-1/best.safetensors --steps 24 --ascii",
                  "two years ahead, drawn here");
  command.example("forecast model.safetensors --csv sales.csv --future plan.csv --steps 14",
                  "with the prices of the days to come");
  command.example("forecast model.safetensors --csv sales.csv --out next.csv --plot next.svg",
                  "from a newer file of the same channels");
}

// Refuses wrong options before the training.
SavedModel train_on_series(const Command& command, const ForecastOptions& asked) {
  const fs::path csv = command.positional(), future = asked.future;
  const Recipe recipe =
      asked.guess(command, asked.file.wishes(command, asked.steps, 1, asked.options.overrides(command)));
  require_input(!recipe.detects(), "forecast: data.label is for detectors, and {} is to be forecast",
                csv.string());
  asked.check_target(command, recipe);
  require_input(asked.only.empty() || !recipe.data.id.empty(),
                "forecast: --series {}: {} is of one series (data.id names none)", one_line(asked.only),
                csv.string());
  require_future(recipe.data.known.empty(), future, csv);
  require_input(future.empty() || fs::exists(future), "{}: there is no such file", future.string());
  return asked.train(command, recipe);
}

// Warns of up to five series.
void warn(const Series& series, const std::vector<Forecast>& all) {
  constexpr int most = 5;
  int warned = 0;
  for (const Forecast& forecast : all)
    if (forecast.warning && ++warned <= most)
      show(stderr, "warning: {}{}\n", name_of_series(series, forecast.origin), *forecast.warning);
  if (warned > most) show(stderr, "warning: and so of {} further series\n", warned - most);
}

}  // namespace

void forecast(Command& command) {
  ForecastOptions asked;
  declare(command, asked);
  if (!command.parse()) return;
  asked.machine.set_up(command);
  require_input(!command.given("steps") || (asked.steps >= 1 && asked.steps <= 1'000'000),
                "forecast: --steps {} must be in [1, 1000000]", asked.steps);
  asked.check(command);
  if (command.positional() == standard_input) asked.csv = standard_input;
  const SavedModel saved =
      asked.is_file ? train_on_series(command, asked) : read_saved_model(command.positional());
  if (!command.given("steps")) asked.steps = saved.recipe.data.horizon;

  require_input(asked.only.empty() || !saved.recipe.data.id.empty(),
                "forecast: --series {}: the model of {} is of one series (data.id names none)",
                one_line(asked.only), saved.path.string());
  require_future(columns_of_future(saved.recipe, saved.facts).empty(), asked.future, saved.path);
  Forecaster forecaster(saved, asked.csv, asked.steps, asked.future, asked.only);
  const Series& series = forecaster.series();
  const auto drawn = static_cast<int>(asked.place_drawn(command, series, forecaster.targets()));
  std::vector<Forecast> all;
  for (const int member : forecaster.forecast_series()) {
    stop_if_signalled();
    all.push_back(forecaster.forecast(forecaster.known_end(member)));
  }
  const Forecast& found = all.front();
  const bool names = !series.members.empty() && asked.only.empty();
  std::string text = header_of(series, forecaster.targets(), !found.low.empty(), names) + "\n";
  for (const Forecast& forecast : all) text += csv_of(forecaster, forecast, names);
  asked.print_or_write(text);
  for (const std::string& note : series.notes)  // training has printed those of its file
    if (!asked.is_file || (!asked.future.empty() && note.starts_with(asked.future)))
      show(stderr, "note: {}\n", note);
  warn(series, all);
  show(stderr, "interval: {}\n", found.interval);
  asked.draw(chart_of(forecaster, found, drawn));
}

}  // namespace timeseries
