// timeseries anomalies: finds rows of a series that a forecaster did not foresee.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "data/csv.h"
#include "examples/timeseries/commands/commands.h"
#include "examples/timeseries/commands/model_or_series.h"
#include "examples/timeseries/scores/scores.h"
#include "examples/timeseries/scores/watch.h"
#include "framework/one_line.h"
#include "training/program/cli/console.h"

namespace timeseries {

namespace {

std::string csv_of(const Watch& watch, const Series& series, const std::vector<int>& targets, double rate) {
  std::string text = "time,channel,value,forecast,low,high,error,p,anomaly\n";
  for (const WatchedValue& value : watch.values) {
    const int channel = targets[value.target];
    text +=
        fmt::format("{},{},{:.10g},{:.10g},{:.10g},{:.10g},{:.6g},{:.6g},{}\n", series.times.text(value.row),
                    csv_cell(series.channels[channel]), series.at(value.row, channel), value.forecast,
                    value.low, value.high, value.error, value.p, value.p <= rate ? 1 : 0);
  }
  return text;
}

// The anomalies with the largest errors, in order of time.
RunDescription::Table table_of(const Watch& watch, const Series& series, const std::vector<int>& targets,
                               double rate) {
  constexpr size_t most = 20;
  std::vector<const WatchedValue*> found;
  for (const WatchedValue& value : watch.values)
    if (value.p <= rate) found.push_back(&value);
  RunDescription::Table table{
      .title = "Anomalies", .note = {}, .columns = {"time", "value", "forecast", "80 %", "p"}};
  if (targets.size() > 1) table.columns.insert(table.columns.begin() + 1, "channel");
  std::ranges::stable_sort(found, std::greater{}, &WatchedValue::error);
  if (found.size() > most)
    table.note = fmt::format("The {} of the largest errors, of {}.", most, found.size()), found.resize(most);
  std::ranges::stable_sort(found, {}, &WatchedValue::row);
  for (const WatchedValue* value : found) {
    const int channel = targets[value->target];
    table.rows.push_back(
        {series.times.text(value->row), fmt::format("{:.6g}", series.at(value->row, channel)),
         fmt::format("{:.6g}", value->forecast), fmt::format("{:.6g} to {:.6g}", value->low, value->high),
         fmt::format("{:.2g}", value->p)});
    if (targets.size() > 1) table.rows.back().insert(table.rows.back().begin() + 1, series.channels[channel]);
  }
  return table;
}

Chart chart_of(const Watch& watch, const Series& series, const std::vector<int>& targets, size_t target,
               double rate) {
  const int channel = targets[target];
  const std::string& name = series.channels[channel];
  const int64_t first = watch.values.front().row;
  Chart chart{.title = "Anomalies of " + name,
              .description = fmt::format(
                  "Values whose forecast a step ahead erred more than all but {:.2g} of those before.", rate),
              .x_name = "time",
              .y_name = name,
              .from_zero = false,
              .series = {{.name = name}, {.name = "anomaly", .points = true}}};
  for (int64_t row = first; row <= watch.values.back().row; ++row)
    chart.x_texts.push_back(series.times.text(row));
  constexpr size_t most = 600;
  const bool has_band = watch.values.size() / targets.size() <= most;
  if (has_band) chart.band = {.name = "80 % interval"};
  for (const WatchedValue& value : watch.values) {
    if (value.target != target) continue;
    const auto x = static_cast<double>(value.row - first);
    chart.series[0].x.push_back(x), chart.series[0].y.push_back(series.at(value.row, channel));
    chart.series[1].x.push_back(x);
    chart.series[1].y.push_back(value.p <= rate ? series.at(value.row, channel) : std::nan(""));
    if (!has_band || std::isnan(value.low)) continue;
    chart.band->x.push_back(x), chart.band->low.push_back(value.low), chart.band->high.push_back(value.high);
  }
  if (chart.band && chart.band->x.empty()) chart.band.reset();
  chart.series[0] = thinned(chart.series[0], most);
  return chart;
}

struct AnomaliesOptions : ModelOrSeries {
  double rate = 0.01;
};

void declare(Command& command, AnomaliesOptions& asked) {
  command.describe(
      "Finds rows that a forecaster did not foresee. Each row of the test is forecast from the rows before it; it is an "
      "anomaly if the forecast errs more than all but a small share of the forecasts before it did. With a "
      "series alone, FILE.csv in the model's place, its second half is watched by the mean of a few forecasters that know "
      "the first.");
  asked.add_model(command);
  command.option("rate", asked.rate, "SHARE", "of ordinary rows that are called anomalies all the same");
  command.option("series", asked.only, "NAME", "the series that is watched, of a model of several (data.id)");
  asked.add_output(command, "draws the rows that were watched, and what was found, as SVG",
                   "writes every row that was watched as CSV, in place of printing it");
  command.example("anomalies sensor.csv --column pressure --out found.csv --plot found.svg",
                  "without a recipe or a model");
  command.example("anomalies runs/mine-1/best.safetensors --csv today.csv --rate 0.001",
                  "by a model of yours");
}

void check(const Command& command, AnomaliesOptions& asked) {
  require_input(asked.rate > 0 && asked.rate < 1, "anomalies: --rate {} must be between 0 and 1", asked.rate);
  asked.check(command);
  if (!asked.is_file) return;
  asked.csv = command.positional();
  require_input(asked.only.empty(),
                "anomalies: --series is for a model of several series, and {} is a series", asked.csv);
}

// The series that is watched, and the forecasts of its rows.
struct Watching {
  Recipe recipe;
  std::optional<SavedModel> saved = {};
  std::unique_ptr<SeriesData> data = {};
  std::unique_ptr<SeriesModel> model = {};
  std::optional<ForecastBaseline> baseline = {};

  Forecasts forecasts() const { return model ? forecasts_of(recipe, *model) : forecasts_of(*baseline); }
};

Watching watching(const Command& command, const AnomaliesOptions& asked) {
  Watching all;
  if (!asked.is_file) {
    all.saved = one_series(read_saved_model(command.positional()), "anomalies", asked.only);
    all.recipe = all.saved->recipe;
    require_input(!all.recipe.detects(), "{}: a detector; 'timeseries detect' is the command for it",
                  all.saved->path.string());
    all.data =
        std::make_unique<SeriesData>(all.recipe, asked.csv, Purpose{.model = &*all.saved, .trains = false});
    all.model = all.saved->make_model(*all.data->train);
    return all;
  }
  // The first rows fit the baselines, the next ones set what is ordinary, and the second half is watched.
  const std::vector<Override> overrides = asked.options.overrides(command);
  require_read_without_network(command.name(), overrides, "data.window");
  Wishes wishes = asked.file.wishes(command, 1, overrides);
  wishes.train = 0.3, wishes.valid = 0.2;
  all.recipe = asked.guess(command, wishes);
  asked.check_target(command, all.recipe);
  all.data = std::make_unique<SeriesData>(all.recipe, asked.csv, Purpose{.trains = false});
  print_notes({.out = stderr}, *all.data);
  all.baseline = baseline_row("combination")
                     ->make({all.recipe.data, all.data->series(), all.data->series().rows(),
                             all.data->split.train, all.data->targets()});
  return all;
}

void say_watched(const Watch& found, const Series& series, int64_t begin, int64_t end) {
  show(stderr, "watched: {} to {}, {} rows, by the errors of {} and of the rows before each\n",
       series.times.text(begin), series.times.text(end - 1), with_commas(end - begin), found.errors_of);
  if (found.not_watched > 0)
    show(
        stderr,
        "not watched: {} rows with missing values among those that they are forecast from: fewer than 8 rows "
        "before them lacked as many\n",
        with_commas(found.not_watched));
}

// Says if no row can be called one at first.
void say_rate(double rate, const Watch& found, size_t targets) {
  const double least = static_cast<double>(targets) / static_cast<double>(found.known + 1);
  if (rate < least)
    show(
        stderr,
        "rate: {:.2g} needs {} errors known before the first row, and there are {}: until then no row can be "
        "called one (--rate {:.2g})\n",
        rate, with_commas(static_cast<int64_t>(std::ceil(static_cast<double>(targets) / rate)) - 1),
        with_commas(found.known), least);
}

}  // namespace

void anomalies(Command& command) {
  AnomaliesOptions asked;
  declare(command, asked);
  if (!command.parse()) return;
  asked.machine.set_up(command);
  check(command, asked);
  const Watching all = watching(command, asked);
  SeriesData& data = *all.data;
  const Series& series = data.series();
  const std::vector<int>& targets = data.targets();
  const size_t drawn = asked.place_drawn(command, series, targets);
  const Watch found = watch(all.recipe, data, data.tests.front().windows, all.forecasts());
  require_input(
      !found.values.empty(),
      "{}: fewer than 8 forecasts lie before the rows that are watched, to hold their errors against",
      series.origin);
  if (!asked.is_file)
    for (const std::string& note : series.notes) show(stderr, "note: {}\n", note);
  say_watched(found, series, found.values.front().row, found.values.back().row + 1);
  say_rate(asked.rate, found, targets.size());

  const RunDescription::Table table = table_of(found, series, targets, asked.rate);
  const Console console{.out = stderr};
  if (table.rows.empty())
    show(stderr, "anomalies: none\n");
  else
    console.print("\n{}\n", table.title), console.print(table);
  asked.print_or_write(csv_of(found, series, targets, asked.rate));
  asked.draw(chart_of(found, series, targets, drawn, asked.rate));
}

}  // namespace timeseries
