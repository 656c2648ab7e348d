// timeseries look: makes a page that shows a model's values while it reads a window, and what its forecast depends on.
#include <fmt/format.h>

#include "examples/timeseries/commands/commands.h"
#include "examples/timeseries/export/live_series.h"
#include "examples/timeseries/look/look_numbers.h"
#include "examples/timeseries/recipe/options.h"
#include "framework/clock.h"
#include "training/files/atomic_file.h"
#include "training/program/cli/console.h"
#include "training/program/run/look_command.h"
#include "training/program/run/machine.h"

namespace timeseries {

// Two models to compare must offer the same rows.
static void require_alike(const LookedWindow& first, const LookedWindow& other, const LookCommand::Model& a,
                          const LookCommand::Model& b) {
  const auto what = [](const LookedWindow& window) {
    return fmt::format("{} {} row{} of {} from {} on", window.detects() ? "detects" : "forecasts",
                       window.horizon(), window.horizon() == 1 ? "" : "s", window.target_name(),
                       window.series().times.text(window.origin()));
  };
  require_input(what(first) == what(other), "look: {} {}, and {} {}: they cannot be held against each other",
                a.path, what(first), b.path, what(other));
}

void look(Command& command) {
  std::string csv, at, target, only;
  LookCommand page;
  LiveOption live;
  Machine machine;
  command.describe(
      "Makes a page that shows what a model does while it reads a window: its forecast beside the truth, which rows and "
      "channels the forecast rests on, what its units hold, how far back gradients reach, and the tape. It is one HTML "
      "file that loads nothing.");
  page.add_to(command, "window");
  add_csv_option(command, csv);
  command
      .option("at", at, "TIME",
              "the first row to forecast, by its time; of a detector, the row to give a label")
      .otherwise("the last whose truth is known");
  command.option("series", only, "NAME", "the series that is looked at, of a model of several (data.id)");
  command.option("target", target, "NAME", "the channel whose forecast is looked at")
      .otherwise("the first one");
  live.add_to(command);
  machine.add_to(command);
  command.example("look runs/airline-1/best.safetensors", "then open look.html");
  command.example("look best.safetensors --csv sales.csv --at 2024-12 --target coffee",
                  "what the forecast of December rested on");
  if (!command.parse()) return;
  machine.set_up(command);

  const double begin = clock_seconds();
  const std::vector<LookCommand::Model> models = page.models(command);
  std::vector<SavedModel> saved;
  for (const auto& model : models) saved.push_back(one_series(read_saved_model(model.path), "look", only));
  std::vector<std::unique_ptr<LookedWindow>> windows;
  for (size_t i = 0; i < models.size(); ++i) {
    windows.push_back(std::make_unique<LookedWindow>(saved[i], csv, at, target));
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
    if (const auto warning = far.warning_of_inputs(read.series())) show(stderr, "warning: {}\n", *warning);
  }
}

}  // namespace timeseries
