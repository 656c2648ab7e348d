// timeseries look: makes a page that shows a model's values while it reads a window, and what its forecast depends on.
// With a file alone: the bundled network's forecast.
#include <fmt/format.h>

#include "examples/timeseries/commands/commands.h"
#include "examples/timeseries/commands/forecast_output.h"
#include "examples/timeseries/commands/model_or_series.h"
#include "examples/timeseries/data/series_read.h"
#include "examples/timeseries/export/live_series.h"
#include "examples/timeseries/files/series_file.h"
#include "examples/timeseries/look/look_numbers.h"
#include "examples/timeseries/pretrained/window.h"
#include "examples/timeseries/series/season.h"
#include "framework/clock.h"
#include "framework/one_line.h"
#include "training/files/atomic_file.h"
#include "training/program/cli/console.h"
#include "training/program/run/look_command.h"

namespace timeseries {

// Two models to compare must offer the same rows.
static void require_alike(const LookedWindow& first, const LookedWindow& other, const LookCommand::Model& a,
                          const LookCommand::Model& b) {
  const auto what = [](const LookedWindow& window) {
    return fmt::format("{} {} row{} of {} from {} on", window.detects() ? "detects" : "forecasts",
                       window.horizon(), plural(window.horizon()), window.target_name(),
                       window.series().times.text(window.origin()));
  };
  require_input(what(first) == what(other), "look: {} {}, and {} {}: they cannot be held against each other",
                a.path, what(first), b.path, what(other));
}

namespace {

struct LookOptions : ModelOrSeries {
  std::string at;
  int steps = 0;
  LookCommand page = {};
};

// A series without a model: the network that ships with the program forecasts it.
void look_at_file(const Command& command, const LookOptions& asked) {
  const double begun = clock_seconds();
  const std::string& path = command.positional();
  for (const char* option : {"csv", "against", "live"})
    require_input(
        !command.given(option),
        "look: --{} is for a model, and {} is a series, which the network that ships with the program forecasts",
        option, path);
  require_input(!command.given("steps") || (asked.steps >= 1 && asked.steps <= most_ahead),
                "look: --steps {} must be in [1, {}]", asked.steps, most_ahead);
  const std::vector<Override> overrides = asked.options.overrides(command);
  require_read_without_network(command.name(), overrides);
  Wishes wishes = asked.file.wishes(command, asked.steps, overrides);
  wishes.series = asked.only;
  const Recipe recipe = recipe_for(path, wishes, {.out = stderr});
  const std::string only = series_asked(recipe, asked.only);
  const int64_t steps = recipe.data.horizon;
  const Series series = load_series(recipe, path == standard_input ? path : std::string(), steps);
  require_input(!only.empty() || series.members.empty(), "look: {} is of {} series: --series NAME says which",
                path, series.members.size());
  const int member = only.empty() ? 0 : series_named(series, only, "look: --series: " + path);
  const std::string& target = asked.target.empty() ? recipe.data.targets.front() : asked.target;
  const int64_t begin = series.begin_of(member), end = series.end_of(member) - steps;
  const int channel = series.channel(target);
  const Season guessed{.period = recipe.data.period, .second_period = recipe.data.second_period};
  const Season season = tells_season(wishes)
                            ? guessed
                            : find_season(values_of(series, channel, begin, end), series.step_of(member));
  if (to_text(season) != to_text(guessed))
    show(stderr, "note: the season of '{}' is: {}\n", one_line(only.empty() ? target : only),
         to_text(season));
  const LookedForecast looked{.series = series,
                              .rows = end,
                              .channel = channel,
                              .origin = asked.at.empty() ? std::min(end, std::max(begin + 3, end - steps))
                                                         : row_at(series, asked.at, begin, end + 1),
                              .steps = steps,
                              .season = season.period,
                              .bounds = recipe.data.bounds};
  require_new("look", asked.page.out);
  const std::string title = std::filesystem::path(path).stem().string() + (only.empty() ? "" : ", " + only);
  asked.page.write(title, std::vector{look_json(looked, title, path)}, begun);
  for (const std::string& note : series.notes) show(stderr, "note: {}\n", note);
}

}  // namespace

void look(Command& command) {
  LookOptions asked;
  LookCommand& page = asked.page;
  LiveOption live;
  command.describe(
      "Makes a page that shows what a model does while it reads a window: its forecast beside the truth, which rows and "
      "channels the forecast rests on, what its units hold, how far back gradients reach, and the tape. It is one HTML "
      "file that loads nothing. With a series alone, FILE.csv in the model's place, it shows which rows the bundled network's "
      "forecast rests on.");
  page.add_to(command, "window");
  command.also_takes_series();
  add_csv_option(command, asked.csv);
  command
      .option("at", asked.at, "TIME",
              "the first row to forecast, by its time; of a detector, the row to give a label")
      .otherwise("the last whose truth is known");
  command.option("series", asked.only, "NAME", "the series that is looked at, of a model or file of several");
  command.option("target", asked.target, "NAME", "the channel whose forecast is looked at")
      .otherwise("the first one");
  live.add_to(command);
  asked.machine.add_to(command);
  asked.file.add_to(command);
  command.option("steps", asked.steps, "N", "rows to forecast, 64 at most").otherwise("guessed");
  asked.options.add_to(command, {.engine = false});
  command.example("look sales.csv --column units", "what the network that ships with the program goes by");
  command.example("look runs/airline-1/best.safetensors", "then open look.html");
  command.example("look best.safetensors --csv sales.csv --at 2024-12 --target coffee",
                  "what the forecast of December rested on");
  if (!command.parse()) return;
  asked.machine.set_up(command);
  if (is_series_file(command.positional())) return look_at_file(command, asked);
  asked.refuse_of_file(command, {"set", "steps"});

  const double begin = clock_seconds();
  const std::vector<LookCommand::Model> models = page.models(command);
  std::vector<SavedModel> saved;
  for (const auto& model : models)
    saved.push_back(one_series(read_saved_model(model.path), "look", asked.only));
  std::vector<std::unique_ptr<LookedWindow>> windows;
  for (size_t i = 0; i < models.size(); ++i) {
    windows.push_back(std::make_unique<LookedWindow>(saved[i], asked.csv, asked.at, asked.target));
    require_alike(*windows[0], *windows[i], models[0], models[i]);
  }
  require_new("look", page.out);
  std::vector<std::string> numbers;
  if (live.is_on(page)) numbers.push_back(live_json(saved[0], *windows[0], live));
  for (size_t i = 0; i < models.size(); ++i)
    numbers.push_back(look_json(*windows[i], look_inside(*windows[i]), models[i].title, models[i].path));
  page.write(models[0].title, numbers, begin);
  for (const std::string& note : windows[0]->series().notes) show(stderr, "note: {}\n", note);
  for (size_t i = 0; i < models.size(); ++i) {
    FarOutside far(saved[i].facts.trained, saved[i].facts.scaling);
    const LookedWindow& read = *windows[i];
    far.look(read.series(), read.first_read(), read.first_read() + read.window(),
             {read.inputs().begin(), read.inputs().end()});
    if (const auto warning = far.warning(read.series(), FarOutside::inputs))
      show(stderr, "warning: {}\n", *warning);
  }
}

}  // namespace timeseries
