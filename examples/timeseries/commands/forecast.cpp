// timeseries forecast: a trained model's forecast of the rows after the last one.
#include <algorithm>
#include <filesystem>
#include <ranges>

#include "examples/timeseries/baselines/combination.h"
#include "examples/timeseries/commands/commands.h"
#include "examples/timeseries/commands/forecast_file.h"
#include "examples/timeseries/commands/forecaster.h"
#include "examples/timeseries/commands/model_or_series.h"
#include "examples/timeseries/files/series_file.h"
#include "framework/nearest.h"
#include "training/files/json/json.h"
#include "training/program/cli/console.h"

namespace timeseries {

namespace {

namespace fs = std::filesystem;

struct ForecastOptions : ModelOrSeries {
  std::string future, members;  // --future, --members
  int steps = 0;
  bool json = false;

  // Throws InputError if --series names one where there is one series.
  void check_series(const Recipe& recipe, const std::string& of) const {
    const auto& targets = recipe.data.targets;
    const auto named =
        std::ranges::find_if(targets, [&](const auto& name) { return name.starts_with(only); });
    require_input(!recipe.data.id.empty() || only.empty() || named == targets.end(),
                  "forecast: --series {}: it is a column: --column '{}'", one_line(only),
                  named == targets.end() ? "" : one_line(*named));
    require_input(only.empty() || !recipe.data.id.empty(),
                  "forecast: --series {}: {} is of one series (data.id names none)", one_line(only), of);
  }
  void check_future(bool reads_none, const fs::path& of) const {
    require_input(
        future.empty() || !reads_none,
        "forecast: --future {}: the model of {} reads no column of the rows to forecast (data.known)", future,
        of.string());
  }
  // Prints the forecasts or writes them to --out, prints the JSON if that is asked for, warns of up to five series, and
  // draws the first.
  void give(const ForecastOutput& found, size_t drawn) const {
    constexpr size_t most = 5;
    if (!json || !out.empty()) print_or_write(out, found.csv());
    if (json) show("{}\n", json_text(found.json()));
    const std::vector<std::string> warnings = found.warnings();
    for (size_t k = 0; k < std::min(most, warnings.size()); ++k) show(stderr, "warning: {}\n", warnings[k]);
    if (warnings.size() > most)
      show(stderr, "warning: and so of {} further series\n", warnings.size() - most);
    show(stderr, "interval: {}\n", found.all.front().interval);
    draw(found.chart(drawn));
  }
};

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
  command.example("forecast sales.csv --set data.time=day", "which column holds the times");
  command.example("forecast runs/airline-1/best.safetensors --steps 24 --ascii",
                  "two years ahead, drawn here");
  command.example("forecast model.safetensors --csv sales.csv --future plan.csv --steps 14",
                  "with the prices of the days to come");
  command.example("forecast model.safetensors --csv sales.csv --out next.csv --plot next.svg",
                  "from a newer file of the same channels");
}

// Trains a network of the series. Refuses wrong options before.
SavedModel train_on_series(const Command& command, const ForecastOptions& asked,
                           const std::vector<Override>& overrides) {
  const fs::path csv = command.positional();
  Wishes wishes = asked.file.wishes(command, asked.steps, overrides);
  wishes.series = asked.only;
  wishes.train = 0.8, wishes.valid = 0.1, wishes.network = true;
  const Recipe recipe = asked.guess(command, wishes);
  require_input(!recipe.detects(), "forecast: data.label is for detectors, and {} is to be forecast",
                csv.string());
  asked.check_series(recipe, csv.string());
  asked.check_future(recipe.data.known.empty(), csv);
  require_input(asked.future.empty() || fs::exists(asked.future), "{}: there is no such file", asked.future);
  RunOptions run;
  run.program = "timeseries";
  if (csv == standard_input) run.data = standard_input;
  return train_on_file(run, recipe, csv, {.out = stderr});
}

std::vector<std::string> members_in(const std::string& words) {
  const std::vector<std::string> known = combination_words();
  std::vector<std::string> members;
  for (const auto part : words | std::views::split(',')) {
    const std::string word(part.begin(), part.end());
    require_input(std::ranges::find(known, word) != known.end(), "forecast: --members: there is no '{}'{}",
                  one_line(word), which_was_meant(word, known));
    members.push_back(word);
  }
  return members;
}

// Throws InputError: the file cannot be read, fewer than three rows, a key or an option that has no effect here.
void forecast_file(const Command& command, const ForecastOptions& asked,
                   const std::vector<Override>& overrides) {
  const fs::path csv = command.positional();
  require_read_without_network(command.name(), overrides);
  const std::vector<std::string> members = members_in(asked.members);
  Wishes wishes = asked.file.wishes(command, asked.steps, overrides);
  wishes.series = asked.only;
  const Recipe recipe = asked.guess(command, wishes);
  const std::string only = series_asked(recipe, asked.only);
  if (!only.empty()) asked.check_series(recipe, csv.string());
  FileForecasts found(recipe, csv == standard_input ? csv : fs::path(), asked.steps, only);
  const size_t drawn = asked.place_drawn(command, found.series, found.output.targets);
  found.forecast(members, tells_season(wishes));
  for (const std::string& warning : found.warnings) show(stderr, "warning {}\n", warning);
  for (const std::string& note : found.notes) show(stderr, "note    {}\n", note);
  const Console console{.out = stderr};
  console.print("\n{}\n", found.table.title), console.print(found.table);
  asked.give(found.output, drawn);
}

}  // namespace

void forecast(Command& command) {
  ForecastOptions asked;
  declare(command, asked);
  if (!command.parse()) return;
  require_input(!command.given("steps") || (asked.steps >= 1 && asked.steps <= 1'000'000),
                "forecast: --steps {} must be in [1, 1000000]", asked.steps);
  asked.check(command);
  if (command.positional() == standard_input) asked.csv = standard_input;
  const std::vector<Override> overrides = asked.options.overrides(command);
  // Only a network reads columns that are known ahead.
  const bool trains = asked.is_file && std::ranges::any_of(overrides, [](const Override& o) {
                        return o.assignment.starts_with("data.known=");
                      });
  asked.machine.set_up(command, trains ? recipe_of(overrides).training.precision : "fp32");
  require_input(asked.members.empty() || (asked.is_file && !trains),
                "forecast: --members is for the mean that forecasts a series without a recipe; {}",
                asked.is_file ? "what is known ahead takes a network" : "this is a model");
  if (asked.is_file && !trains) {
    require_input(
        asked.future.empty(),
        "forecast: --future {}: nothing says which of its columns are known ahead: --set 'data.known=[\"NAME\"]' does",
        asked.future);
    return forecast_file(command, asked, overrides);
  }
  const SavedModel saved =
      trains ? train_on_series(command, asked, overrides) : read_saved_model(command.positional());
  if (!command.given("steps")) asked.steps = saved.recipe.data.horizon;

  asked.check_series(saved.recipe, "the model of " + saved.path.string());
  asked.check_future(columns_of_future(saved.recipe).empty(), saved.path);
  Forecaster forecaster(saved, asked.csv, asked.steps, asked.future, asked.only);
  const size_t drawn = asked.place_drawn(command, forecaster.series(), forecaster.targets());
  const ForecastOutput found = forecaster.forecast_all();
  for (const std::string& note : found.series.notes)  // training has printed those of its file
    if (!asked.is_file || (!asked.future.empty() && note.starts_with(asked.future)))
      show(stderr, "note: {}\n", note);
  asked.give(found, drawn);
}

}  // namespace timeseries
