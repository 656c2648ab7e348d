// timeseries anomalies: finds rows of a series that a forecaster did not foresee.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>

#include "data/csv.h"
#include "examples/timeseries/commands/commands.h"
#include "examples/timeseries/commands/model_or_series.h"
#include "examples/timeseries/files/series_file.h"
#include "examples/timeseries/scores/scores.h"
#include "examples/timeseries/scores/watch.h"
#include "framework/one_line.h"
#include "training/program/cli/console.h"

namespace timeseries {

namespace {

// --- labels ------------------------------------------------------------------------------------------------

// The labels 0 and 1 in a column, for every row of the file.
std::vector<int> labels_in(const Recipe& recipe, const SavedModel* saved, const std::filesystem::path& csv,
                           const std::string& column) {
  SeriesOptions options = series_options(recipe, saved);
  if (!options.channels.empty() && std::ranges::count(options.channels, column) == 0)
    options.channels.push_back(column);
  const Series series = parse_series(csv_text(csv), name_of_series_file(csv), options);
  const int channel = series.channel(column);
  std::vector<int> labels;
  for (int64_t row = 0; row < series.rows(); ++row) {
    const double value = series.at(row, channel);
    require_input((value == 0 || value == 1) && !series.is_filled(row, channel),
                  "{}:{}: '{}': a label is 0 or 1{}", series.origin, series.lines[static_cast<size_t>(row)],
                  one_line(column), series.is_filled(row, channel) ? "" : fmt::format(", not {}", value));
    labels.push_back(static_cast<int>(value));
  }
  return labels;
}

std::string in_words(const EventScores& scores) {
  const auto or_none = [](const std::string& text) { return text.empty() ? "none" : text; };
  return fmt::format("{} of {} found, {} of {} called rows labelled: recall {}, precision {}, F1 {}",
                     scores.found, scores.events, scores.right, scores.called, or_none(figure(scores.recall)),
                     or_none(figure(scores.precision)), or_none(figure(scores.f1)));
}

// --- what is written ---------------------------------------------------------------------------------------

std::string csv_of(const Watch& watch, const Series& series, const std::vector<int>& targets,
                   const AnomalyRule& rule, const std::vector<int>& labels) {
  std::string text = labels.empty() ? "time,channel,value,forecast,low,high,error,p,anomaly\n"
                                    : "time,channel,value,forecast,low,high,error,p,anomaly,label\n";
  for (const WatchedValue& value : watch.values) {
    const int channel = targets[value.target];
    text +=
        fmt::format("{},{},{:.10g},{:.10g},{:.10g},{:.10g},{:.6g},{:.6g},{}", series.times.text(value.row),
                    csv_cell(series.channels[channel]), series.at(value.row, channel), value.forecast,
                    value.low, value.high, value.error, value.p, rule.calls(value) ? 1 : 0);
    if (!labels.empty()) text += fmt::format(",{}", labels[value.row]);
    text += '\n';
  }
  return text;
}

// The anomalies with the largest errors, in order of time.
RunDescription::Table table_of(const Watch& watch, const Series& series, const std::vector<int>& targets,
                               const AnomalyRule& rule) {
  constexpr size_t most = 20;
  std::vector<const WatchedValue*> found;
  for (const WatchedValue& value : watch.values)
    if (rule.calls(value)) found.push_back(&value);
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
               const AnomalyRule& rule) {
  const int channel = targets[target];
  const std::string& name = series.channels[channel];
  const int64_t first = watch.values.front().row;
  Chart chart{
      .title = "Anomalies of " + name,
      .description =
          rule.least_error
              ? fmt::format("Values whose forecast a step ahead erred by {:.3g} units of its window or more.",
                            *rule.least_error)
              : fmt::format(
                    "Values whose forecast a step ahead erred more than all but {:.2g} of those before.",
                    rule.rate),
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
    chart.series[1].y.push_back(rule.calls(value) ? series.at(value.row, channel) : std::nan(""));
    if (!has_band || std::isnan(value.low)) continue;
    chart.band->x.push_back(x), chart.band->low.push_back(value.low), chart.band->high.push_back(value.high);
  }
  if (chart.band && chart.band->x.empty()) chart.band.reset();
  chart.series[0] = thinned(chart.series[0], most);
  return chart;
}

struct AnomaliesOptions : ModelOrSeries {
  std::string label;
  AnomalyRule rule;
};

void declare(Command& command, AnomaliesOptions& asked) {
  command.describe(
      "Finds rows that a forecaster did not foresee. Each row of the test is forecast from the rows before it; it is an "
      "anomaly if the forecast errs more than all but a small share of the forecasts before it did. No labels are "
      "needed; if there are some, events are scored, and the share is chosen on the first half of the test. With a "
      "series alone, FILE.csv in the model's place, its second half is watched by the mean of a few forecasters that know "
      "the first.");
  asked.add_model(command);
  command.option("rate", asked.rule.rate, "SHARE", "of ordinary rows that are called anomalies all the same");
  command.option("label", asked.label, "NAME",
                 "a column of 0 and 1: the rows that are anomalies, to be scored by");
  command.option("series", asked.only, "NAME", "the series that is watched, of a model of several (data.id)");
  asked.add_output(command, "draws the rows that were watched, and what was found, as SVG",
                   "writes every row that was watched as CSV, in place of printing it");
  command.example("anomalies sensor.csv --column pressure --out found.csv --plot found.svg",
                  "without a recipe or a model");
  command.example("anomalies runs/mine-1/best.safetensors --csv today.csv --rate 0.001",
                  "by a model of yours");
}

void check(const Command& command, AnomaliesOptions& asked) {
  require_input(asked.rule.rate > 0 && asked.rule.rate < 1, "anomalies: --rate {} must be between 0 and 1",
                asked.rule.rate);
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
    all.data =
        std::make_unique<SeriesData>(all.recipe, asked.csv, Purpose{.model = &*all.saved, .trains = false});
    all.model = all.saved->make_model(*all.data->train);
    return all;
  }
  // The first rows fit the baselines, the next ones set what is ordinary, and the second half is watched.
  const std::vector<Override> overrides = asked.options.overrides(command);
  require_read_without_network(command.name(), overrides, "data.window");
  Wishes wishes = asked.file.wishes(command, 1, overrides);
  wishes.label = asked.label, wishes.train = 0.3, wishes.valid = 0.2;
  all.recipe = asked.guess(command, wishes);
  asked.check_target(command, all.recipe);
  if (!asked.label.empty()) (void)labels_in(all.recipe, nullptr, asked.csv, asked.label);
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

// `by_labels`: labels chose the threshold, on the rows from `begin` up to `half`.
void say_rule(const AnomalyRule& rule, const Watch& found, const Series& series, bool by_labels,
              int64_t begin, int64_t half, size_t targets) {
  if (rule.least_error)
    show(stderr, "threshold: an error of {:.3g} units of its window, by which F1 is best on {} to {}\n",
         *rule.least_error, series.times.text(begin), series.times.text(half - 1));
  else if (by_labels)
    show(stderr, "threshold: --rate {:.2g}, as without labels: no event of the first half was found\n",
         rule.rate);
  const double least = static_cast<double>(targets) / static_cast<double>(found.known + 1);
  if (!rule.least_error && rule.rate < least)
    show(
        stderr,
        "rate: {:.2g} needs {} errors known before the first row, and there are {}: until then no row can be "
        "called one (--rate {:.2g})\n",
        rule.rate, with_commas(static_cast<int64_t>(std::ceil(static_cast<double>(targets) / rule.rate)) - 1),
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
  require_input(asked.label.empty() || !data.file.empty(),
                "anomalies: --label is a column of a file: --csv names it");
  std::vector<int> labels;
  if (!asked.label.empty())
    labels = labels_in(all.recipe, all.saved ? &*all.saved : nullptr, data.file, asked.label);
  const Watch found = watch(all.recipe, data, *data.test, all.forecasts());
  require_input(
      !found.values.empty(),
      "{}: fewer than 8 forecasts lie before the rows that are watched, to hold their errors against",
      series.origin);
  if (!asked.is_file)
    for (const std::string& note : series.notes) show(stderr, "note: {}\n", note);
  const int64_t begin = found.values.front().row, end = found.values.back().row + 1,
                half = begin + (end - begin) / 2;
  say_watched(found, series, begin, end);
  AnomalyRule rule = asked.rule;
  const bool by_labels = !labels.empty() && !command.given("rate");
  if (by_labels) rule.least_error = best_error(found, labels, begin, half);
  say_rule(rule, found, series, by_labels, begin, half, targets.size());

  const RunDescription::Table table = table_of(found, series, targets, rule);
  const Console console{.out = stderr};
  if (table.rows.empty())
    show(stderr, "anomalies: none\n");
  else
    console.print("\n{}\n", table.title), console.print(table);
  if (!labels.empty())
    show(stderr, "events of the second half: {}\n", in_words(scores_of(found, rule, labels, half, end)));
  asked.print_or_write(csv_of(found, series, targets, rule, labels));
  asked.draw(chart_of(found, series, targets, drawn, rule));
}

}  // namespace timeseries
