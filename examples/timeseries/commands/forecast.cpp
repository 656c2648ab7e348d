// timeseries forecast: a trained model's forecast of the rows after the last one.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <initializer_list>
#include <unordered_set>

#include "data/csv.h"
#include "examples/timeseries/commands/commands.h"
#include "examples/timeseries/commands/forecaster.h"
#include "examples/timeseries/files/series_file.h"
#include "examples/timeseries/guess/from_file.h"
#include "examples/timeseries/recipe/options.h"
#include "framework/signals.h"
#include "training/files/atomic_file.h"
#include "training/program/cli/console.h"
#include "training/program/cli/pages.h"
#include "training/program/run/machine.h"
#include "training/report/run_description.h"

namespace timeseries {

namespace {

namespace fs = std::filesystem;

// Works even if neither file exists yet.
bool same_file(const std::string& a, const std::string& b) {
  return fs::weakly_canonical(fs::absolute(a)) == fs::weakly_canonical(fs::absolute(b));
}

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

// Refuses wrong options before the training.
SavedModel model_of_file(const fs::path& csv, const Wishes& wishes, double seconds, const std::string& target,
                         const std::string& only, const fs::path& future) {
  RunOptions run;
  run.program = "timeseries";
  if (csv == standard_input) run.data = csv;
  const Console console{.out = stderr};
  const Recipe recipe = recipe_for(csv, wishes, seconds, console).recipe;
  require_input(!recipe.detects(), "forecast: data.label is for detectors, and {} is to be forecast",
                csv.string());
  require_input(
      target.empty() || recipe.data.targets.empty() || std::ranges::count(recipe.data.targets, target) > 0,
      "forecast: --target {} is not forecast", target);
  require_input(only.empty() || !recipe.data.id.empty(),
                "forecast: --series {}: {} is of one series (data.id names none)", one_line(only),
                csv.string());
  require_future(recipe.data.known.empty(), future, csv);
  require_input(future.empty() || fs::exists(future), "{}: there is no such file", future.string());
  return train_on_file(run, recipe, csv, console);
}

}  // namespace

void forecast(Command& command) {
  std::string csv, plot, out, target, only, future;
  int steps = 0;
  Machine machine;
  bool ascii = false;
  FileOptions file;
  RecipeOptions options = recipe_options();
  command.describe(
      "Forecasts the rows after the last one of a series. Beyond its horizon a model goes on from its own "
      "forecasts. The interval is as wide as its forecasts of the validation split and of the test were wrong; of "
      "a model with quantiles it lies between these, widened or narrowed likewise. Beside it stands the share of "
      "the test's values within it. With a series alone, FILE.csv in the model's place, it guesses a recipe, says "
      "each guess, trains an ensemble on rolling folds and then on all rows, within a budget of time, and keeps "
      "no model; the interval is as wide as the forecasts of the folds were wrong. A model of several series (data.id) "
      "forecasts each of them, also those that it was not trained on, or the one that --series names.");
  add_checkpoint(command);
  command.also_takes_series();
  add_csv_option(command, csv);
  command.option("steps", steps, "N", "rows to forecast").otherwise("the model's horizon, or guessed");
  command.option("future", future, "FILE",
                 "a CSV file of what is known of the rows to forecast: times, and the columns of data.known");
  command.option("series", only, "NAME", "the one of several series that is forecast")
      .otherwise("all; the first is drawn");
  command.option("target", target, "NAME", "the channel that is drawn").otherwise("the first one");
  command.option("plot", plot, "FILE", "draws history, forecast and interval, as SVG");
  command.option("out", out, "FILE", "writes the forecast as CSV, in place of printing it");
  command.option("ascii", ascii, "draws it in the terminal");
  machine.add_to(command);
  file.add_to(command);
  options.add_to(command, {.seed = true});
  command.example("forecast sales.csv --column units --steps 14 --out next.csv --plot next.svg",
                  "without a recipe or a model: an ensemble within a minute");
  command.example("forecast runs/airline-1/best.safetensors --steps 24 --ascii",
                  "two years ahead, drawn here");
  command.example("forecast model.safetensors --csv sales.csv --future plan.csv --steps 14",
                  "with the prices of the days to come");
  command.example("forecast model.safetensors --csv sales.csv --out next.csv --plot next.svg",
                  "from a newer file of the same channels");
  if (!command.parse()) return;
  machine.set_up(command);
  require_input(!command.given("steps") || (steps >= 1 && steps <= 1'000'000),
                "forecast: --steps {} must be in [1, 1000000]", steps);
  require_new("forecast", plot);
  require_new("forecast", out);
  require_input(plot.empty() || out.empty() || !same_file(plot, out),
                "forecast: --plot {} and --out {} are one file; each needs its own", plot, out);
  require_input(target.empty() || !plot.empty() || ascii,
                "forecast: --target is for a picture: --plot or --ascii");
  const std::string& word = command.positional();
  const bool is_file = is_series_file(word);
  if (is_file) {
    require_input(csv.empty(), "forecast: --csv {} beside {}: the series stands in the model's place already",
                  csv, word);
    if (word == standard_input) csv = word;
  } else {
    file.refuse(command, "a model has its own recipe");
    for (const char* option : {"set", "engine", "seed"})
      require_input(!command.given(option),
                    "forecast: --{} is for a series without a recipe, FILE.csv; a model has its own", option);
  }
  SavedModel saved = is_file ? model_of_file(word, file.wishes(command, steps, 1, options.overrides(command)),
                                             file.seconds(), target, only, future)
                             : read_saved_model(word);
  if (!command.given("steps")) steps = saved.recipe.data.horizon;

  require_input(only.empty() || !saved.recipe.data.id.empty(),
                "forecast: --series {}: the model of {} is of one series (data.id names none)",
                one_line(only), saved.path.string());
  require_future(columns_of_future(saved.recipe, saved.facts).empty(), future, saved.path);
  Forecaster forecaster(saved, csv, steps, future, only);
  const Series& series = forecaster.series();
  int drawn = 0;
  if (!target.empty()) {
    const auto found = std::ranges::find(forecaster.targets(), series.channel(target));
    require_input(found != forecaster.targets().end(), "forecast: --target {} is not forecast", target);
    drawn = static_cast<int>(found - forecaster.targets().begin());
  }
  std::vector<Forecast> all;
  for (const int member : forecaster.forecast_series()) {
    stop_if_signalled();
    all.push_back(forecaster.forecast(forecaster.known_end(member)));
  }
  const Forecast& found = all.front();
  const bool names = !series.members.empty() && only.empty();
  std::string text = header_of(series, forecaster.targets(), !found.low.empty(), names) + "\n";
  for (const Forecast& forecast : all) text += csv_of(forecaster, forecast, names);
  if (out.empty())
    show_data(text);
  else
    write_new_file(out, text);
  for (const std::string& note : series.notes)  // training has printed those of its file
    if (!is_file || (!future.empty() && note.starts_with(future))) show(stderr, "note: {}\n", note);
  constexpr int most_warnings = 5;
  const auto warned =
      std::ranges::count_if(all, [](const Forecast& forecast) { return forecast.warning.has_value(); });
  int shown = 0;
  for (const Forecast& forecast : all)
    if (forecast.warning && ++shown <= most_warnings)
      show(stderr, "warning: {}{}\n", name_of_series(series, forecast.origin), *forecast.warning);
  if (warned > most_warnings) show(stderr, "warning: and so of {} further series\n", warned - most_warnings);
  show(stderr, "interval: {}\n", found.interval);
  const Chart chart = chart_of(forecaster, found, drawn);
  if (!plot.empty()) write_new_file(plot, chart_file(chart));
  if (ascii) show("{}", chart_text(chart, page_columns(), 20));
}

}  // namespace timeseries
