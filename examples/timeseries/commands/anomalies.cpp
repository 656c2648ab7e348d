// timeseries anomalies: finds rows of a series that a forecaster did not foresee.
#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "data/csv.h"
#include "examples/timeseries/commands/commands.h"
#include "examples/timeseries/commands/model_or_series.h"
#include "examples/timeseries/data/series_data.h"
#include "examples/timeseries/model/interval.h"
#include "framework/one_line.h"
#include "training/program/cli/console.h"

namespace timeseries {

namespace {

// A watched value: one row of one target.
struct WatchedValue {
  int64_t row = 0;
  size_t target = 0;
  double forecast = 0, low = 0, high = 0;
  double error = 0;  // in units of its window
  double p = 1;      // p-value of the error
};

struct AnomaliesOptions : ModelOrSeries {
  double rate = 0.01;
};

// A series whose values are held against forecasts from the rows before them.
class Watch {
 public:
  // Reads the series, and the model or what a file alone is forecast by.
  Watch(const Command& command, const AnomaliesOptions& asked);
  // Watches every row of the test, one step ahead. With several targets each p is multiplied by their number. Throws
  // InputError: too few earlier forecasts.
  void watch();

  const Series& series() const { return data_->series(); }
  const std::vector<int>& targets() const { return data_->targets(); }
  void say() const;
  std::string csv() const;
  // The anomalies with the largest errors, in order of time.
  RunDescription::Table table() const;
  Chart chart(size_t target) const;

 private:
  double at(const WatchedValue& value) const { return series().at(value.row, targets()[value.target]); }
  const std::string& channel(size_t target) const { return series().channels[targets()[target]]; }
  bool is_anomaly(const WatchedValue& value) const { return value.p <= rate_; }

  double rate_;  // at most so large is an anomaly's p
  Recipe recipe_;
  std::unique_ptr<SeriesData> data_;
  std::unique_ptr<SeriesModel> model_;
  std::optional<ForecastBaseline> baseline_;  // in the model's place
  std::vector<WatchedValue> values_;          // in order of time
  std::string interval_;                      // its name
  int64_t known_ = 0;                         // errors known before the first row, by target
  std::string errors_of_ = "the test's rows before";
  int64_t not_watched_ = 0;  // rows whose inputs lack values, as too few earlier ones did
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

Watch::Watch(const Command& command, const AnomaliesOptions& asked) : rate_(asked.rate) {
  if (!asked.is_file) {
    const SavedModel saved = one_series(read_saved_model(command.positional()), "anomalies", asked.only);
    recipe_ = saved.recipe;
    require_input(!recipe_.detects(), "{}: a detector; 'timeseries detect' is the command for it",
                  saved.path.string());
    data_ = std::make_unique<SeriesData>(recipe_, asked.csv, Purpose{.model = &saved, .trains = false});
    model_ = saved.make_model(*data_->train);
    return;
  }
  // The first rows fit the baselines, the next ones set what is ordinary, and the second half is watched.
  const std::vector<Override> overrides = asked.options.overrides(command);
  require_read_without_network(command.name(), overrides, "data.window");
  Wishes wishes = asked.file.wishes(command, 1, overrides);
  wishes.train = 0.3, wishes.valid = 0.2;
  const std::string& csv = command.positional();
  if (!asked.only.empty()) {
    const std::string id = guess_recipe(csv, wishes).recipe.data.id;
    require_input(!id.empty(), "anomalies: --series {}: {} is of one series", one_line(asked.only), csv);
    std::erase_if(wishes.overrides, [](const Override& o) { return o.assignment.starts_with("data.id="); });
    wishes.overrides.push_back({"data.only=" + toml_string(id + "=" + asked.only)});
  }
  recipe_ = asked.guess(command, wishes);
  require_input(recipe_.data.id.empty(),
                "anomalies: {} is of several series, by column '{}': --series NAME says which", csv,
                one_line(recipe_.data.id));
  data_ = std::make_unique<SeriesData>(recipe_, csv, Purpose{.trains = false});
  print_notes({.out = stderr}, *data_);
  baseline_ = baseline_row("combination")
                  ->make({recipe_.data, series(), series().rows(), data_->split.train, targets()});
  require_input(baseline_.has_value(),
                "anomalies: {}: too few rows: the first 30 % forecast the others, and need 3", csv);
}

void Watch::watch() {
  SeriesWindows& windows = data_->tests.front().windows;
  const Forecasts forecasts = model_ ? forecasts_of(recipe_, *model_) : forecasts_of(*baseline_);
  LackingErrors lacking;
  ForecastInterval interval =
      make_interval(recipe_, data_->facts.trained, windows, recipe_.data.horizon, false);
  interval_ = name_of(interval, recipe_);
  const Forecasts noting = [&](SeriesWindows& valid, const ForecastUse& use) {
    return forecasts(valid, [&](WindowForecast& forecast) {
      if (const int64_t missing = missing_before(valid, forecast.origin))
        lacking.known.emplace_back(
            missing, interval.widths.errors_of(forecast.origin, forecast.values, forecast.values));
      use(forecast);
    });
  };
  if (auto valid = windows_if_any(recipe_, series(), data_->facts.scaling,
                                  from_rows(data_->split.valid, series(), data_->first_untrained)))
    if (learn_from(interval, noting, *valid, true)) errors_of_ = "the validation split";
  bool is_first = true;
  forecasts(windows, [&](WindowForecast& forecast) {
    const std::vector<double> errors =
        interval.widths.errors_of(forecast.origin, forecast.values, forecast.values);
    std::vector<double> p = interval.widths.p_values(forecast.origin, errors);
    const int64_t missing = missing_before(windows, forecast.origin);
    for (size_t t = 0; missing > 0 && t < p.size(); ++t) p[t] = lacking.p_value(missing, t, errors[t]);
    const bool is_watched = missing == 0 || !std::ranges::all_of(p, [](double v) { return std::isnan(v); });
    not_watched_ += !is_watched;
    if (missing > 0) lacking.known.emplace_back(missing, errors);
    if (std::exchange(is_first, false)) {
      const auto [chose, others] = interval.widths.known();
      known_ = chose + others;
    }
    forecast.low = forecast.high = forecast.values;  // for quantiles: the middle one
    interval.put(forecast);
    for (size_t t = 0; t < targets().size(); ++t)
      if (!std::isnan(p[t]))
        values_.push_back({forecast.origin, t, forecast.values[t], forecast.low[t], forecast.high[t],
                           errors[t], std::min(1.0, p[t] * static_cast<double>(targets().size()))});
    if (is_watched) interval.widths.learn(forecast.origin, forecast.values, forecast.values, false);
  });
  require_input(
      !values_.empty(),
      "{}: fewer than 8 forecasts lie before the rows that are watched, to hold their errors against",
      series().origin);
}

std::string Watch::csv() const {
  std::string text = "time,channel,value,forecast,low,high,error,p,anomaly\n";
  const auto end = [](double v) { return std::isnan(v) ? "" : fmt::format("{:.10g}", v); };  // none without width
  for (const WatchedValue& value : values_)
    text +=
        fmt::format("{},{},{:.10g},{:.10g},{},{},{:.6g},{:.6g},{}\n", series().times.text(value.row),
                    csv_cell(channel(value.target)), at(value), value.forecast, end(value.low),
                    end(value.high), value.error, value.p, is_anomaly(value) ? 1 : 0);
  return text;
}

RunDescription::Table Watch::table() const {
  constexpr size_t most = 20;
  std::vector<WatchedValue> found;
  std::ranges::copy_if(values_, std::back_inserter(found),
                       [&](const WatchedValue& value) { return is_anomaly(value); });
  RunDescription::Table table{
      .title = "Anomalies", .note = {}, .columns = {"time", "value", "forecast", interval_, "p"}};
  if (targets().size() > 1) table.columns.insert(table.columns.begin() + 1, "channel");
  std::ranges::stable_sort(found, std::greater{}, &WatchedValue::error);
  if (found.size() > most)
    table.note = fmt::format("The {} of the largest errors, of {}.", most, found.size()), found.resize(most);
  std::ranges::stable_sort(found, {}, &WatchedValue::row);
  for (const WatchedValue& value : found) {
    table.rows.push_back({series().times.text(value.row), fmt::format("{:.6g}", at(value)),
                          fmt::format("{:.6g}", value.forecast),
                          std::isnan(value.low) ? "" : fmt::format("{:.6g} to {:.6g}", value.low, value.high),
                          fmt::format("{:.2g}", value.p)});
    if (targets().size() > 1) table.rows.back().insert(table.rows.back().begin() + 1, channel(value.target));
  }
  return table;
}

Chart Watch::chart(size_t target) const {
  const std::string& name = channel(target);
  const int64_t first = values_.front().row;
  Chart chart{
      .title = "Anomalies of " + name,
      .description = fmt::format(
          "Values whose forecast a step ahead erred more than all but {:.2g} of those before.", rate_),
      .x_name = "time",
      .y_name = name,
      .from_zero = false,
      .series = {{.name = name}, {.name = "anomaly", .points = true}}};
  for (int64_t row = first; row <= values_.back().row; ++row)
    chart.x_texts.push_back(series().times.text(row));
  constexpr size_t most = 600;
  const bool has_band = values_.size() / targets().size() <= most;
  if (has_band) chart.band = {.name = interval_};
  for (const WatchedValue& value : values_) {
    if (value.target != target) continue;
    const auto x = static_cast<double>(value.row - first);
    chart.series[0].x.push_back(x), chart.series[0].y.push_back(at(value));
    chart.series[1].x.push_back(x);
    chart.series[1].y.push_back(is_anomaly(value) ? at(value) : std::nan(""));
    if (!has_band || std::isnan(value.low)) continue;
    chart.band->x.push_back(x), chart.band->low.push_back(value.low), chart.band->high.push_back(value.high);
  }
  if (chart.band && chart.band->x.empty()) chart.band.reset();
  chart.series[0] = thinned(chart.series[0], most);
  return chart;
}

void Watch::say() const {
  const int64_t begin = values_.front().row, end = values_.back().row + 1;
  show(stderr, "watched: {} to {}, {} rows, by the errors of {} and of the rows before each\n",
       series().times.text(begin), series().times.text(end - 1), with_commas(end - begin), errors_of_);
  if (not_watched_ > 0)
    show(
        stderr,
        "not watched: {} rows with missing values among those that they are forecast from: fewer than 8 rows "
        "before them lacked as many\n",
        with_commas(not_watched_));
  const double count = static_cast<double>(targets().size()), least = count / static_cast<double>(known_ + 1);
  if (rate_ < least)  // no row can be called one at first
    show(
        stderr,
        "rate: {:.2g} needs {} errors known before the first row, and there are {}: until then no row can be "
        "called one (--rate {:.2g})\n",
        rate_, with_commas(static_cast<int64_t>(std::ceil(count / rate_)) - 1), with_commas(known_), least);
}

void declare(Command& command, AnomaliesOptions& asked) {
  command.describe(
      "Finds rows that a forecaster did not foresee. Each row of the test is forecast from the rows before it; it is an "
      "anomaly if the forecast errs more than all but a small share of the forecasts before it did. With a "
      "series alone, FILE.csv in the model's place, its second half is watched by the mean of a few forecasters that know "
      "the first.");
  asked.add_model(command);
  command.option("rate", asked.rate, "SHARE", "of ordinary rows that are called anomalies all the same");
  command.option("series", asked.only, "NAME", "the series that is watched, of a model or file of several");
  asked.add_output(command, "draws the rows that were watched, and what was found, as SVG",
                   "writes every row that was watched as CSV, in place of printing it");
  command.example("anomalies sensor.csv --column pressure --out found.csv --plot found.svg",
                  "without a recipe or a model");
  command.example("anomalies runs/mine-1/best.safetensors --csv today.csv --rate 0.001",
                  "by a model of yours");
}

}  // namespace

void anomalies(Command& command) {
  AnomaliesOptions asked;
  declare(command, asked);
  if (!command.parse()) return;
  asked.machine.set_up(command);
  require_input(asked.rate > 0 && asked.rate < 1, "anomalies: --rate {} must be between 0 and 1", asked.rate);
  asked.check(command);
  Watch found(command, asked);
  const size_t drawn = asked.place_drawn(command, found.series(), found.targets());
  found.watch();
  if (!asked.is_file)
    for (const std::string& note : found.series().notes) show(stderr, "note: {}\n", note);
  found.say();

  const RunDescription::Table table = found.table();
  const Console console{.out = stderr};
  if (table.rows.empty())
    show(stderr, "anomalies: none\n");
  else
    console.print("\n{}\n", table.title), console.print(table);
  print_or_write(asked.out, found.csv());
  asked.draw(found.chart(drawn));
}

}  // namespace timeseries
