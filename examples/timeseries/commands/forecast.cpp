// timeseries forecast: a trained model's forecast of the rows after the last one.
#include <filesystem>

#include "examples/timeseries/baselines/combination.h"
#include "examples/timeseries/commands/commands.h"
#include "examples/timeseries/commands/forecast_file.h"
#include "examples/timeseries/commands/forecaster.h"
#include "examples/timeseries/files/series_file.h"
#include "training/program/cli/console.h"

namespace timeseries {

namespace {

namespace fs = std::filesystem;

void require_future(bool reads_none, const fs::path& future, const fs::path& of) {
  require_input(future.empty() || !reads_none,
                "forecast: --future {}: the model of {} reads no column of the rows to forecast (data.known)",
                future.string(), of.string());
}

void declare(Command& command, ForecastOptions& asked) {
  command.describe(
      "Forecasts the rows after the last one of a series. Beyond its horizon a model goes on from its own "
      "forecasts. The interval's width comes from errors on the validation split and on the test; a model with "
      "quantiles has these, widened or narrowed likewise. Beside it stands the share of the test's values within it. With "
      "a series alone, FILE.csv in the model's place, it guesses how the file is read, says each guess, and forecasts by "
      "the mean of a few forecasters, weighted by their errors on the last rows; with columns that are known of the rows "
      "to forecast (data.known) it trains a network instead. A model of several "
      "series (data.id) forecasts each of them, also those that it was not trained on, or the one that --series names.");
  asked.add_model(command);
  command.option("steps", asked.steps, "N", "rows to forecast").otherwise("the model's horizon, or guessed");
  command.option("future", asked.future, "FILE",
                 "a CSV file of what is known of the rows to forecast: times, and the columns of data.known");
  command.option("series", asked.only, "NAME", "the one of several series that is forecast")
      .otherwise("all; the first is drawn");
  command.option("members", asked.members, "WORDS", "of the mean that forecasts a series without a recipe")
      .otherwise(fmt::format("all: {}", fmt::join(combination_words(), ",")));
  asked.add_output(command, "draws history, forecast and interval, as SVG",
                   "writes the forecast as CSV, in place of printing it");
  add_json_option(command, asked.json);
  command.example("forecast sales.csv --column units --steps 14 --out next.csv --plot next.svg",
                  "without a recipe or a model");
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
  Wishes wishes = asked.file.wishes(command, asked.steps, asked.options.overrides(command));
  wishes.train = 0.8, wishes.valid = 0.1, wishes.network = true;
  const Recipe recipe = asked.guess(command, wishes);
  require_input(!recipe.detects(), "forecast: data.label is for detectors, and {} is to be forecast",
                csv.string());
  asked.check_target(command, recipe);
  asked.check_series(recipe, csv.string());
  require_future(recipe.data.known.empty(), future, csv);
  require_input(future.empty() || fs::exists(future), "{}: there is no such file", future.string());
  return asked.train(command, recipe);
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
  const std::vector<Override> overrides = asked.options.overrides(command);
  const bool trains = asked.is_file && needs_network(overrides);
  require_input(asked.members.empty() || (asked.is_file && !trains),
                "forecast: --members is for the mean that forecasts a series without a recipe; {}",
                asked.is_file ? "what is known ahead takes a network" : "this is a model");
  if (asked.is_file && !trains) {
    require_input(
        asked.future.empty(),
        "forecast: --future {}: nothing says which of its columns are known ahead: --set 'data.known=[\"NAME\"]' does",
        asked.future);
    return forecast_file(command, asked);
  }
  const SavedModel saved =
      asked.is_file ? train_on_series(command, asked) : read_saved_model(command.positional());
  if (!command.given("steps")) asked.steps = saved.recipe.data.horizon;

  asked.check_series(saved.recipe, "the model of " + saved.path.string());
  require_future(columns_of_future(saved.recipe).empty(), asked.future, saved.path);
  Forecaster forecaster(saved, asked.csv, asked.steps, asked.future, asked.only);
  const Series& series = forecaster.series();
  const size_t drawn = asked.place_drawn(command, series, forecaster.targets());
  const ForecastRows rows = forecaster.forecast_rows(asked.only);
  const std::vector<Forecast> all = forecaster.forecast_all();
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const Forecast& forecast : all) json.push_back(rows.json(forecast));
  for (const std::string& note : series.notes)  // training has printed those of its file
    if (!asked.is_file || (!asked.future.empty() && note.starts_with(asked.future)))
      show(stderr, "note: {}\n", note);
  asked.give(rows, all, json, drawn);
}

}  // namespace timeseries
