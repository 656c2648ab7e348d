// timeseries explain: shows what a recipe makes, before anything is trained.
#include <algorithm>

#include <fmt/format.h>

#include "examples/timeseries/commands/commands.h"
#include "examples/timeseries/recipe/options.h"
#include "examples/timeseries/scores/scores.h"
#include "training/files/atomic_file.h"
#include "training/program/cli/console.h"
#include "training/program/cli/explanations.h"
#include "training/program/cli/schedule_chart.h"
#include "training/program/run/machine.h"
#include "training/program/run/processes.h"

namespace timeseries {

namespace {

std::string names_of(const Series& series, const std::vector<int>& channels) {
  constexpr size_t most = 12;
  std::vector<std::string> names;
  for (size_t k = 0; k < std::min(most, channels.size()); ++k) names.push_back(series.channels[channels[k]]);
  return fmt::format("{}{}", fmt::join(names, ", "),
                     channels.size() > most ? fmt::format(" and {} others", channels.size() - most) : "");
}

RunDescription::Table table_of_parts(const SeriesData& data) {
  RunDescription::Table table{
      .title = "Parts", .note = {}, .columns = {"part", "first row", "last row", "rows", "windows"}};
  const auto add = [&](const std::string& name, const Series& series, const Part& part, int64_t windows) {
    // By time, since there may be several series.
    const auto at = [&](int64_t row) { return series.times.at[row]; };
    const int64_t first = std::ranges::min(part, {}, [&](const Span&span) { return at(span.begin); }).begin,
                  last =
                      std::ranges::max(part, {}, [&](const Span&span) { return at(span.end - 1); }).end - 1;
    table.rows.push_back({name, series.times.text(first), series.times.text(last), with_commas(rows_of(part)),
                          with_commas(windows)});
  };
  add("train", data.series(), data.split.train, data.train->count());
  if (data.valid) add("valid", data.series(), data.split.valid, data.valid->count());
  for (const TestPart& test : data.tests)
    add(test.name, test.windows.series(), test.rows, test.windows.count());
  return table;
}

}  // namespace

void explain(Command& command) {
  std::string csv, plot;
  Machine machine;
  RecipeOptions options = recipe_options();
  command.describe(
      "Explains a recipe's model of a series before it is trained: what it reads and predicts, rows and "
      "windows of each part, parameters, the engine and why, and the course of the learning rate.");
  options.add_with_recipe(command);
  command.group("Series and machine");
  add_csv_option(command, csv);
  machine.add_to(command);
  command.group("Output");
  command.option("plot", plot, "FILE", plot_of_schedule);
  command.example("explain airline", "the bundled series of airline passengers");
  command.example("explain airline --plot rate.svg", "its learning rate as a picture");
  if (!command.parse()) return;
  require_new("explain", plot, "plot");
  const Recipe recipe = load_recipe(command.positional(), options.overrides(command));
  machine.set_up(command, recipe.training.precision);
  const SeriesData data(recipe, csv);
  const SeriesModel model(recipe, columns_of(*data.train));
  model.params.check_count();
  const auto& windows = data.train->options();
  const int64_t batches = data.train->batches(recipe.data.batch);
  if (!plot.empty()) write_schedule_plot(plot, recipe.name, recipe.sections(), batches);

  show("{}: {}\n", printable(recipe.name), printable(describe(recipe, csv)));
  show("reads {} rows of {}\n", windows.window, names_of(data.series(), windows.inputs));
  show("{} of {}\n",
       recipe.detects() ? "detects the last row's" : fmt::format("forecasts {} rows", windows.horizon),
       names_of(data.series(), windows.targets));
  for (const std::string& note : data.notes) show("note: {}\n", note);
  for (const std::string& warning : data.warnings) show("warning: {}\n", warning);
  const Console console;
  console.print("\n"), console.print(table_of_parts(data));
  console.print("\nParameters\n"), console.print(parameter_table(model.params)), console.print("\n");
  print_products();
  print_processes(recipe.training, model.params,
                  operations_of_step(recipe, columns_of(*data.train), model.params));
  if (model.recurrent())
    print_engine(model.recurrent()->choice_for(
        {.steps = recipe.data.window / recipe.model.segment, .batch = recipe.data.batch}));
  show("Training: {} epochs of {} batches of {} windows\n", recipe.training.epochs, batches,
       recipe.data.batch);
  print_learning_rate(recipe.sections(), batches);
}

}  // namespace timeseries
