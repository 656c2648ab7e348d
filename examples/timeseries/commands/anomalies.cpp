// timeseries anomalies: finds rows of a series that a forecaster did not foresee.
#include <algorithm>
#include <cmath>
#include <functional>

#include "data/csv.h"
#include "examples/timeseries/commands/commands.h"
#include "examples/timeseries/files/series_file.h"
#include "examples/timeseries/guess/from_file.h"
#include "examples/timeseries/recipe/options.h"
#include "examples/timeseries/scores/scores.h"
#include "examples/timeseries/series/detection_scores.h"
#include "training/files/atomic_file.h"
#include "training/program/cli/console.h"
#include "training/program/cli/pages.h"
#include "training/program/run/machine.h"

namespace timeseries {

namespace {

// A watched value: one row of one target.
struct Watched {
  int64_t row = 0;
  size_t target = 0;
  double forecast = 0, low = 0, high = 0;
  double error = 0;  // in units of its window
  double p = 1;      // p-value of the error
};

// The rule for anomalies: p is at most `rate`; or, if labels chose it, the error is at least `least_error`.
struct Rule {
  double rate = 0.01;
  std::optional<double> least_error = {};
  bool calls(const Watched& value) const {
    return least_error ? value.error >= *least_error : value.p <= rate;
  }
};

struct Watch {
  std::vector<Watched> values;  // in order of time
  int64_t known = 0;            // errors known before the first row, by target
  std::string errors_of;        // "the folds"
  int64_t not_watched = 0;      // rows whose inputs lack values, as too few earlier ones did
};

// Errors of windows that lack values. They are larger, so they are compared with windows that lack as many or more.
struct LackingErrors {
  std::vector<std::pair<int64_t, std::vector<double>>> known = {};  // missing values, and errors [targets]
  // NaN: fewer than 8 such errors are known.
  double p_value(int64_t missing, size_t target, double error) const {
    int64_t all = 0, not_less = 0;
    for (const auto& [lacked, errors] : known)
      if (lacked >= missing && std::isfinite(errors[target])) ++all, not_less += errors[target] >= error;
    return all < ConformalInterval::least_errors || std::isnan(error)
               ? std::nan("")
               : static_cast<double>(1 + not_less) / static_cast<double>(1 + all);
  }
};

int64_t missing_before(const SeriesWindows& windows, int64_t origin) {
  int64_t missing = 0;
  for (int64_t row = origin - windows.options().window; row < origin; ++row)
    for (const int channel : windows.options().inputs) missing += windows.series().is_filled(row, channel);
  return missing;
}

// Watches every row of the test, one step ahead. With several targets each p is multiplied by their number.
Watch watch(const SavedModel& saved, const SeriesData& data, SeriesWindows& windows,
            const SeriesModel& model) {
  const std::vector<int>& targets = data.targets();
  std::optional<Ensemble> ensemble;
  if (saved.recipe.is_ensemble())
    ensemble.emplace(saved.recipe, model, data.facts.ensemble, data.series(), data.split.train, targets);
  LackingErrors lacking;
  const Forecasts forecasts = ensemble ? ensemble->forecasts() : forecasts_of(saved.recipe, model);
  ForecastInterval interval =
      make_interval(saved.recipe, data.facts.trained, windows, saved.recipe.data.horizon, false);
  interval.errors_of = "the test's rows before";
  const Forecasts noting = [&](SeriesWindows& valid, const ForecastUse& use) {
    return forecasts(valid, [&](WindowForecast& forecast) {
      if (const int64_t missing = missing_before(valid, forecast.origin))
        lacking.known.emplace_back(
            missing, interval.widths.errors_of(forecast.origin, forecast.values, forecast.values));
      use(forecast);
    });
  };
  if (auto valid = windows_if_any(saved.recipe, data.series(), data.facts.scaling,
                                  from_rows(data.split.valid, data.series(), data.first_untrained)))
    if (learn_from(interval, noting, *valid, true)) interval.errors_of = "the validation split";
  if (know_folds(interval, data.facts.ensemble, "the model", true)) interval.errors_of = "the folds";
  Watch found{.values = {}, .known = 0, .errors_of = interval.errors_of};
  bool is_first = true;
  forecasts(windows, [&](WindowForecast& forecast) {
    const std::vector<double> errors =
        interval.widths.errors_of(forecast.origin, forecast.values, forecast.values);
    std::vector<double> p = interval.widths.p_values(forecast.origin, errors);
    const int64_t missing = missing_before(windows, forecast.origin);
    for (size_t t = 0; missing > 0 && t < p.size(); ++t) p[t] = lacking.p_value(missing, t, errors[t]);
    const bool is_watched = missing == 0 || !std::ranges::all_of(p, [](double v) { return std::isnan(v); });
    found.not_watched += !is_watched;
    if (missing > 0) lacking.known.emplace_back(missing, errors);
    if (std::exchange(is_first, false)) {
      const auto [chose, others] = interval.widths.known();
      found.known = chose + others;
    }
    forecast.low = forecast.high = forecast.values;  // for quantiles: the middle one
    interval.put(forecast);
    for (size_t t = 0; t < targets.size(); ++t)
      if (!std::isnan(p[t]))
        found.values.push_back({forecast.origin, t, forecast.values[t], forecast.low[t], forecast.high[t],
                                errors[t], std::min(1.0, p[t] * static_cast<double>(targets.size()))});
    if (is_watched) interval.widths.learn(forecast.origin, forecast.values, forecast.values, false);
  });
  return found;
}

// --- labels ------------------------------------------------------------------------------------------------

// The labels 0 and 1 in a column, for every row of the file.
std::vector<int> labels_in(const SavedModel& saved, const std::filesystem::path& csv,
                           const std::string& column) {
  SeriesOptions options = series_options(saved.recipe, &saved);
  options.label = column;
  const Series series = parse_series(csv_text(csv), name_of_series_file(csv), options);
  std::vector<int> labels;
  for (int64_t row = 0; row < series.rows(); ++row)
    labels.push_back(static_cast<int>(series.at(row, series.label)));
  return labels;
}

// Marks rows in [begin, end) with a value that the rule calls.
std::vector<int> called_rows(const Watch& watch, const Rule& rule, int64_t begin, int64_t end) {
  std::vector<int> called(static_cast<size_t>(end - begin));
  for (const Watched& value : watch.values)
    if (value.row >= begin && value.row < end && rule.calls(value)) called[value.row - begin] = 1;
  return called;
}

EventScores scores_of(const Watch& watch, const Rule& rule, const std::vector<int>& labels, int64_t begin,
                      int64_t end) {
  return score_events(
      called_rows(watch, rule, begin, end),
      std::span(labels).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
}

// The error threshold with the best F1 on these rows, half way to the next smaller error. None: none finds an event.
std::optional<double> best_error(const Watch& watch, const std::vector<int>& labels, int64_t begin,
                                 int64_t end) {
  std::vector<double> errors;
  for (const Watched& value : watch.values)
    if (value.row >= begin && value.row < end) errors.push_back(value.error);
  std::ranges::sort(errors, std::greater{});
  errors.erase(std::unique(errors.begin(), errors.end()), errors.end());
  constexpr size_t most = 500;
  std::optional<double> best;
  double f1 = 0;
  for (size_t k = 0; k < std::min(most, errors.size()); ++k) {
    const EventScores scores = scores_of(watch, {.least_error = errors[k]}, labels, begin, end);
    if (!(scores.f1 > f1)) continue;
    f1 = scores.f1, best = k + 1 < errors.size() ? (errors[k] + errors[k + 1]) / 2 : errors[k];
  }
  return best;
}

std::string in_words(const EventScores& scores) {
  const auto or_none = [](const std::string& text) { return text.empty() ? "none" : text; };
  return fmt::format("{} of {} found, {} of {} called rows labelled: recall {}, precision {}, F1 {}",
                     scores.found, scores.events, scores.right, scores.called, or_none(figure(scores.recall)),
                     or_none(figure(scores.precision)), or_none(figure(scores.f1)));
}

// --- what is written ---------------------------------------------------------------------------------------

std::string csv_of(const Watch& watch, const Series& series, const std::vector<int>& targets,
                   const Rule& rule, const std::vector<int>& labels) {
  std::string text = labels.empty() ? "time,channel,value,forecast,low,high,error,p,anomaly\n"
                                    : "time,channel,value,forecast,low,high,error,p,anomaly,label\n";
  for (const Watched& value : watch.values) {
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
                               const Rule& rule) {
  constexpr size_t most = 20;
  std::vector<const Watched*> found;
  for (const Watched& value : watch.values)
    if (rule.calls(value)) found.push_back(&value);
  RunDescription::Table table{
      .title = "Anomalies", .note = {}, .columns = {"time", "value", "forecast", "80 %", "p"}};
  if (targets.size() > 1) table.columns.insert(table.columns.begin() + 1, "channel");
  std::ranges::stable_sort(found, std::greater{}, &Watched::error);
  if (found.size() > most)
    table.note = fmt::format("The {} of the largest errors, of {}.", most, found.size()), found.resize(most);
  std::ranges::stable_sort(found, {}, &Watched::row);
  for (const Watched* value : found) {
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
               const Rule& rule) {
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
  for (const Watched& value : watch.values) {
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

// Refuses wrong options before the training.
SavedModel model_of_file(const std::filesystem::path& csv, const Wishes& wishes, double seconds,
                         const std::string& target) {
  RunOptions run;
  run.program = "timeseries";
  if (csv == standard_input) run.data = csv;
  const Console console{.out = stderr};
  const Recipe recipe = recipe_for(csv, wishes, seconds, console).recipe;
  require_input(!recipe.detects(),
                "anomalies: data.label is for detectors; --label names labels to be scored by");
  require_input(
      target.empty() || recipe.data.targets.empty() || std::ranges::count(recipe.data.targets, target) > 0,
      "anomalies: --target {} is not forecast", target);
  return train_on_file(run, recipe, csv, console);
}

// The command line.
struct Asked {
  std::string csv, label, target, plot, out, only;
  Rule rule;
  bool ascii = false, is_file = false;  // is_file: a series stands in the model's place
  Machine machine = {};
  FileOptions file = {};
  RecipeOptions options = recipe_options();
};

void declare(Command& command, Asked& asked) {
  command.describe(
      "Finds rows that a forecaster did not foresee. Each row of the test is forecast from the rows before it; it is an "
      "anomaly if the forecast errs more than all but a small share of the forecasts before it did. No labels are "
      "needed; if there are some, events are scored, and the share is chosen on the first half of the test. With a "
      "series alone, FILE.csv in the model's place, an ensemble is trained on its first half, and the other half is "
      "watched.");
  add_checkpoint(command);
  command.also_takes_series();
  add_csv_option(command, asked.csv);
  command.option("rate", asked.rule.rate, "SHARE", "of ordinary rows that are called anomalies all the same");
  command.option("label", asked.label, "NAME",
                 "a column of 0 and 1: the rows that are anomalies, to be scored by");
  command.option("series", asked.only, "NAME", "the series that is watched, of a model of several (data.id)");
  command.option("target", asked.target, "NAME", "the channel that is drawn").otherwise("the first one");
  command.option("plot", asked.plot, "FILE", "draws the rows that were watched, and what was found, as SVG");
  command.option("out", asked.out, "FILE",
                 "writes every row that was watched as CSV, in place of printing it");
  command.option("ascii", asked.ascii, "draws it in the terminal");
  asked.machine.add_to(command);
  asked.file.add_to(command);
  asked.options.add_to(command, {.seed = true});
  command.example("anomalies sensor.csv --column pressure --out found.csv --plot found.svg",
                  "without a recipe or a model");
  command.example("anomalies runs/mine-1/best.safetensors --csv today.csv --rate 0.001",
                  "by a model of yours");
}

void check(const Command& command, Asked& asked) {
  require_input(asked.rule.rate > 0 && asked.rule.rate < 1, "anomalies: --rate {} must be between 0 and 1",
                asked.rule.rate);
  require_new("anomalies", asked.plot);
  require_new("anomalies", asked.out);
  require_input(asked.target.empty() || !asked.plot.empty() || asked.ascii,
                "anomalies: --target is for a picture: --plot or --ascii");
  const std::string& word = command.positional();
  asked.is_file = is_series_file(word);
  if (asked.is_file) {
    require_input(asked.csv.empty(),
                  "anomalies: --csv {} beside {}: the series stands in the model's place already", asked.csv,
                  word);
    asked.csv = word;
    require_input(asked.only.empty(),
                  "anomalies: --series is for a model of several series, and {} is a series", word);
    return;
  }
  asked.file.refuse(command, "a model has its own recipe");
  for (const char* option : {"set", "engine", "seed"})
    require_input(!command.given(option),
                  "anomalies: --{} is for a series without a recipe, FILE.csv; a model has its own", option);
}

SavedModel model_for(const Command& command, const Asked& asked) {
  constexpr double train_share = 0.5;
  if (!asked.is_file) return one_series(read_saved_model(command.positional()), "anomalies", asked.only);
  Wishes wishes = asked.file.wishes(command, 1, train_share, asked.options.overrides(command));
  wishes.label = asked.label;
  return model_of_file(asked.csv, wishes, asked.file.seconds(), asked.target);
}

// The place of the channel that is drawn, among the targets.
size_t place_drawn(const Asked& asked, const SeriesData& data) {
  if (asked.target.empty()) return 0;
  const auto found = std::ranges::find(data.targets(), data.series().channel(asked.target));
  require_input(found != data.targets().end(), "anomalies: --target {} is not forecast", asked.target);
  return static_cast<size_t>(found - data.targets().begin());
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
void say_rule(const Rule& rule, const Watch& found, const Series& series, bool by_labels, int64_t begin,
              int64_t half, size_t targets) {
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
  Asked asked;
  declare(command, asked);
  if (!command.parse()) return;
  asked.machine.set_up(command);
  check(command, asked);
  const SavedModel saved = model_for(command, asked);
  require_input(!saved.recipe.detects(), "{}: a detector; 'timeseries detect' is the command for it",
                saved.path.string());
  SeriesData data(saved.recipe, asked.csv, {.model = &saved, .trains = false});
  const Series& series = data.series();
  const std::vector<int>& targets = data.targets();
  require_input(!data.tests.empty(), "{}: no rows are left to watch: all of them train or validate",
                series.origin);
  const size_t drawn = place_drawn(asked, data);
  require_input(asked.label.empty() || !data.file.empty(),
                "anomalies: --label is a column of a file: --csv names it");
  std::vector<int> labels;
  if (!asked.label.empty()) labels = labels_in(saved, data.file, asked.label);
  const auto model = saved.make_model(*data.train);
  const Watch found = watch(saved, data, data.tests.front().windows, *model);
  require_input(
      !found.values.empty(),
      "{}: fewer than 8 forecasts lie before the rows that are watched, to hold their errors against",
      series.origin);
  if (!asked.is_file)
    for (const std::string& note : series.notes) show(stderr, "note: {}\n", note);
  const int64_t begin = found.values.front().row, end = found.values.back().row + 1,
                half = begin + (end - begin) / 2;
  say_watched(found, series, begin, end);
  Rule rule = asked.rule;
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
  const std::string text = csv_of(found, series, targets, rule, labels);
  if (asked.out.empty())
    show_data(text);
  else
    write_new_file(asked.out, text);
  const Chart chart = chart_of(found, series, targets, drawn, rule);
  if (!asked.plot.empty()) write_new_file(asked.plot, chart_file(chart));
  if (asked.ascii) show("{}", chart_text(chart, page_columns(), 20));
}

}  // namespace timeseries
