#include "examples/timeseries/commands/forecaster.h"

#include <algorithm>
#include <cmath>

#include "framework/nearest.h"
#include "framework/one_line.h"
#include "framework/signals.h"

namespace timeseries {

// The one of that name, which must be among those that have rows enough.
static int member_named(const Series& series, const std::string& name, const std::vector<int>& can,
                        int window) {
  std::vector<std::string> names;
  for (const SeriesMember& member : series.members) names.push_back(member.name);
  const auto found = std::ranges::find(names, name);
  require_input(found != names.end(), "forecast: --series: {} has no series '{}'{}", series.origin,
                one_line(name), which_was_meant(name, names));
  const auto member = static_cast<int>(found - names.begin());
  require_input(std::ranges::find(can, member) != can.end(),
                "forecast: --series: '{}' has fewer than the {} rows that the model reads", one_line(name),
                window);
  return member;
}

Forecaster::Forecaster(const SavedModel& saved, const std::filesystem::path& csv, int steps,
                       const std::filesystem::path& future, const std::string& only)
    : saved_(saved), steps_(steps) {
  const Recipe& recipe = saved_.recipe;
  require_input(!recipe.detects(), "{}: a detector; 'timeseries detect' is the command for it",
                saved.path.string());
  const int horizon = recipe.data.horizon, blocks = (steps + horizon - 1) / horizon;
  beyond_ = int64_t{blocks} * horizon;
  series_ = load_series(saved_, csv, beyond_, {future, steps, only});
  Part last, known;
  std::vector<std::string> too_short;
  for (int member = 0; member < series_.count(); ++member) {
    const int64_t begin = series_.begin_of(member), end = known_end(member), rows = end - begin;
    require_input(rows >= recipe.data.window || !series_.members.empty(),
                  "{}: it has {} row{}; the model of {} reads the last {} to forecast", series_.origin, rows,
                  rows == 1 ? "" : "s", saved.path.string(), recipe.data.window);
    known.push_back({begin, end, begin});
    if (rows >= recipe.data.window)
      last.push_back({end, end + beyond_, begin}), forecast_.push_back(member);
    else
      too_short.push_back(fmt::format("'{}' ({})", one_line(series_.name_of(member)), rows));
  }
  if (!only.empty())
    too_short.clear(), forecast_ = {member_named(series_, only, forecast_, recipe.data.window)};
  if (const size_t count = too_short.size()) {
    constexpr size_t most = 5;
    too_short.resize(std::min(count, most));
    series_.notes.push_back(
        fmt::format("not forecast, for they have fewer than the {} rows that the model reads: {}{}",
                    recipe.data.window, fmt::join(too_short, ", "), count > most ? ", …" : ""));
    require_input(!last.empty(), "{}: {}", series_.origin, series_.notes.back());
  }
  saved_.facts.scaling = scaling_for(series_, known, recipe, saved_.facts, series_.notes);
  windows_ =
      std::make_unique<SeriesWindows>(make_windows(recipe, series_, saved_.facts.scaling, last, "forecast"));
  model_ = saved_.make_model(*windows_);
  bounds_.emplace(bounds_of(recipe, saved_.facts.trained, *windows_));
  const auto& inputs = windows_->options().inputs;
  const auto& ahead = windows_->options().known;
  const int first_of_calendar = series_.width() - series_.calendar;
  for (const int input : inputs)
    require_input(blocks == 1 || input >= first_of_calendar ||
                      std::ranges::find(ahead, input) != ahead.end() ||
                      std::ranges::find(targets(), input) != targets().end(),
                  "forecast: {} steps are more than the model's horizon of {}, and to go on it would have to "
                  "know '{}', which it does not forecast",
                  steps, horizon, series_.channels[static_cast<size_t>(input)]);
  const auto split = split_if_any(recipe, series_, beyond_);
  bool is_known = true;
  for (int member = 0; member < series_.count(); ++member) {
    const auto after_training = saved_.facts.trained.first_after(series_, member);
    is_known = is_known && after_training;
    const int64_t end = known_end(member);
    int64_t first = split ? series_.begin_of(member) : end;
    if (split)
      for (const Span& span : within(split->train, series_.begin_of(member), end)) first = span.end;
    untrained_.push_back(after_training.value_or(first));
  }
  if (split) valid_ = from_rows(split->valid, series_, untrained_);
  if (split) test_ = from_rows(split->test, series_, untrained_);
  for (Span& span : test_) span.end = std::min(span.end, rows(span.begin));
  for (int member = 0; member < series_.count(); ++member)
    all_.push_back({untrained_[static_cast<size_t>(member)], known_end(member), series_.begin_of(member)});
  if (!is_known && !saved_.facts.trained.to.empty())
    series_.notes.push_back(
        fmt::format("which rows validate is by the recipe's split: training ended with {}, and the rows "
                    "begin with {}",
                    saved_.facts.trained.to, series_.times.text(0)));
}

std::vector<double> Forecaster::go_on(int64_t origin, const Rows& rows) {
  const Recipe& recipe = saved_.recipe;
  const int horizon = recipe.data.horizon, outputs = recipe.outputs();
  const auto width = static_cast<size_t>(series_.width()), count = targets().size();
  const auto steps = static_cast<size_t>(steps_);
  const int member = series_.member_of(origin);
  const int64_t begin = origin - recipe.data.window;
  Series read = rows.series.part(begin - rows.first, origin + beyond_ - rows.first);  // gets the forecasts
  std::vector<double> result(static_cast<size_t>(outputs) * steps * count);
  for (int first = 0; first < steps_; first += horizon) {
    const std::vector<real> found =
        model_->predict(windows_->input_before(origin + first, read, begin)).to_host();
    for (int q = 0; q < outputs; ++q)
      for (int k = 0; k < std::min(horizon, steps_ - first); ++k)
        for (size_t t = 0; t < count; ++t) {
          const size_t at = static_cast<size_t>(q * horizon + k) * count + t;
          const double value = saved_.facts.scaling.undo(static_cast<double>(found[at]),
                                                         saved_.facts.scaling.place(targets()[t], member));
          require(std::isfinite(value),
                  "forecast: step {} is not finite: the model cannot go on from its own forecasts so far",
                  first + k + 1);
          result[(static_cast<size_t>(q) * steps + static_cast<size_t>(first + k)) * count + t] = value;
          if (q == recipe.middle_output())
            read.values[static_cast<size_t>(origin - begin + first + k) * width +
                        static_cast<size_t>(targets()[t])] = bounds_->at(origin, t).clamp(value);
        }
  }
  return result;
}

std::optional<SeriesWindows> Forecaster::windows_of(const Part& part) const {
  Recipe recipe = saved_.recipe;
  recipe.data.horizon = std::max(steps_, recipe.data.horizon);
  return windows_if_any(recipe, series_, saved_.facts.scaling, part);
}

WindowForecast Forecaster::window_forecast(int64_t origin, const Rows& rows) {
  const std::vector<double> found = go_on(origin, rows);
  const size_t values = static_cast<size_t>(steps_) * targets().size();
  const auto output = [&](size_t q) {
    const auto begin = found.begin() + static_cast<int64_t>(q * values);
    return std::vector<double>(begin, begin + static_cast<int64_t>(values));
  };
  WindowForecast forecast{origin, output(static_cast<size_t>(saved_.recipe.middle_output())), {}, {}};
  const bool quantiles = has_quantile_interval(saved_.recipe, steps_);
  forecast.low = quantiles ? output(0) : forecast.values;
  forecast.high = quantiles ? output(found.size() / values - 1) : forecast.values;
  return forecast;
}

void Forecaster::each_forecast(SeriesWindows& windows, const ForecastUse& use) {
  if (steps_ <= saved_.recipe.data.horizon) {  // whole horizons, as evaluate() has them
    forecasts_of(saved_.recipe, *model_)(windows, [&](WindowForecast& forecast) {
      const size_t values = static_cast<size_t>(steps_) * targets().size();
      for (auto* part : {&forecast.values, &forecast.low, &forecast.high}) part->resize(values);
      use(forecast);
    });
    return;
  }
  const int64_t count = forecasts_in(windows);
  for (int64_t k = 0; k < count; ++k) {
    stop_if_signalled();
    WindowForecast forecast =
        window_forecast(windows.origins()[static_cast<size_t>(k * windows.count() / count)]);
    use(forecast);
  }
}

int64_t Forecaster::forecasts_in(const SeriesWindows& windows) const {
  constexpr int64_t most = 200;  // they are made one by one
  return steps_ <= saved_.recipe.data.horizon ? windows.count() : std::min(most, windows.count());
}

void Forecaster::learn(ForecastInterval& interval, SeriesWindows& windows, bool chose) {
  const Forecasts forecasts = [this](SeriesWindows& of, const ForecastUse& use) {
    each_forecast(of, use);
    return true;
  };
  learn_from(interval, forecasts, windows, chose, forecasts_in(windows));
}

std::optional<ForecastInterval> Forecaster::make_interval() {
  const auto fresh = [&] {
    return timeseries::make_interval(saved_.recipe, saved_.facts.trained, *windows_, steps_,
                                     has_quantile_interval(saved_.recipe, steps_));
  };
  ForecastInterval interval = fresh();
  std::string errors_of;
  auto valid = windows_of(valid_);
  // Without them the test of this file may be what validated the model.
  const bool is_clean = valid || !saved_.recipe.validates();
  if (valid) {
    errors_of = "the validation split";
    learn(interval, *valid, true);
  }
  if (auto windows = is_clean ? windows_of(test_) : std::nullopt) {
    interval.within = interval.counted = 0;
    errors_of += errors_of.empty() ? "the test split" : " and the test split";
    each_forecast(*windows, [&](WindowForecast& forecast) {
      interval.put_and_learn(forecast, false);
      interval.count(series_, forecast, targets());
    });
    if (interval.widths.is_pooled()) learn(interval, *windows, false);
  }
  interval.errors_of = errors_of;
  const std::vector<double> zeros(static_cast<size_t>(steps_) * targets().size());
  WindowForecast none{rows(), zeros, zeros, zeros};
  interval.put(none);  // all that is known by now
  if (interval.widths.is_known() || (is_clean && interval.widths.options().has_quantiles)) return interval;
  // A longer forecast, or a short file: whatever did not train sets the width, and nothing is left to be counted.
  auto windows = windows_of(all_);
  interval = fresh();
  if (windows) {
    learn(interval, *windows, false);
    interval.put(none);
    interval.errors_of = "all rows that did not train";
  }
  if (interval.widths.is_known() || interval.widths.options().has_quantiles) return interval;
  return {};
}

// Warns of the values read; if these are near, of the forecasts.
std::optional<std::string> Forecaster::warning(int64_t origin, const WindowForecast& found) const {
  const TrainedOn& trained = saved_.facts.trained;
  FarOutside read(trained, saved_.facts.scaling), forecast(trained, saved_.facts.scaling);
  const auto& inputs = windows_->options().inputs;
  read.look(series_, origin - saved_.recipe.data.window, origin, {inputs.begin(), inputs.end()});
  for (const auto* values : {&found.values, &found.low, &found.high})
    for (size_t i = 0; i < values->size(); ++i)
      forecast.look((*values)[i], targets()[i % targets().size()],
                    origin + static_cast<int64_t>(i / targets().size()));
  const auto of_inputs = read.warning_of_inputs(series_);
  return of_inputs ? of_inputs : forecast.warning_of_forecasts(series_);
}

Forecast Forecaster::forecast(int64_t origin) {
  WindowForecast found = window_forecast(origin);
  Forecast forecast{origin, found.values, {}, {}, {}};
  forecast.warning = warning(origin, found);  // before it is bounded
  bounds_->clamp(origin, forecast.values);
  if (!interval_) interval_ = make_interval();
  auto& interval = *interval_;
  if (!interval) {
    forecast.interval = fmt::format(
        "none: fewer than 8 forecasts of {} step{} lie in the rows that did not train, to measure its width by",
        steps_, steps_ == 1 ? "" : "s");
    return forecast;
  }
  const std::vector<Hole> holes = holes_before(origin);
  interval->put(found, further_by(holes, *interval));
  forecast.values = found.values, forecast.low = found.low, forecast.high = found.high;
  forecast.interval = describe(*interval, saved_.recipe);
  const bool is_complete = std::ranges::none_of(found.low, [](double v) { return std::isnan(v); });
  if (!holes.empty())
    forecast.interval +=
        fmt::format("; it reads {} value{} that {} missing, {}", holes.size(), holes.size() == 1 ? "" : "s",
                    holes.size() == 1 ? "is" : "are",
                    is_complete ? "and is as much wider as forecasts of earlier rows err more without them"
                                : "and rows are too few to measure what that costs");
  else if (!is_complete)
    forecast.interval += "; steps whose interval would have no width have none";
  return forecast;
}

std::vector<Forecast> Forecaster::forecast_all() {
  std::vector<Forecast> all;
  for (const int member : forecast_) {
    stop_if_signalled();
    all.push_back(forecast(known_end(member)));
  }
  return all;
}

ForecastRows Forecaster::forecast_rows(const std::string& only) const {
  ForecastRows rows(series_, targets(), steps_, only);
  for (int member = 0; member < series_.count(); ++member)
    for (const int target : rows.targets)
      rows.scale[static_cast<size_t>(member)].push_back(scaling().at(scaling().place(target, member)).scale);
  return rows;
}

}  // namespace timeseries
