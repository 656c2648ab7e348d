#include "examples/timeseries/commands/forecaster.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "framework/one_line.h"
#include "framework/signals.h"

namespace timeseries {

Forecaster::Forecaster(const SavedModel& saved, const std::filesystem::path& csv, int steps,
                       const std::filesystem::path& future, const std::string& only)
    : saved_(saved), steps_(steps), only_(only) {
  const Recipe& recipe = saved_.recipe;
  require_input(!recipe.detects(), "{}: a detector; 'timeseries detect' is the command for it",
                saved.path.string());
  const int horizon = recipe.data.horizon, blocks = (steps + horizon - 1) / horizon;
  beyond_ = int64_t{blocks} * horizon;
  series_ = load_series(saved_, csv, beyond_, {future, steps, only});
  Part last;
  std::vector<std::string> too_short;
  for (int member = 0; member < series_.count(); ++member) {
    const int64_t begin = series_.begin_of(member), end = known_end(member), rows = end - begin;
    require_input(rows >= recipe.data.window || !series_.members.empty(),
                  "{}: it has {} row{}; the model of {} reads the last {} to forecast", series_.origin, rows,
                  plural(rows), saved.path.string(), recipe.data.window);
    known_.push_back({begin, end, begin});
    if (rows >= recipe.data.window)
      last.push_back({end, end + beyond_, begin}), forecast_.push_back(member);
    else
      too_short.push_back(fmt::format("'{}' ({})", one_line(series_.name_of(member)), rows));
  }
  if (!only.empty()) {
    const int member = series_named(series_, only, "forecast: --series: " + series_.origin);
    require_input(std::ranges::find(forecast_, member) != forecast_.end(),
                  "forecast: --series: '{}' has fewer than the {} rows that the model reads", one_line(only),
                  recipe.data.window);
    too_short.clear(), forecast_ = {member};
  }
  if (!too_short.empty()) {
    series_.notes.push_back(
        fmt::format("not forecast, for they have fewer than the {} rows that the model reads: {}",
                    recipe.data.window, first_of(too_short)));
    require_input(!last.empty(), "{}: {}", series_.origin, series_.notes.back());
  }
  saved_.facts.scaling = scaling_for(series_, known_, recipe, saved_.facts, series_.notes);
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
                  steps, horizon, series_.channels[input]);
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
  for (Span& span : test_) span.end = std::min(span.end, known_end(series_.member_of(span.begin)));
  for (int member = 0; member < series_.count(); ++member)
    all_.push_back({untrained_[member], known_end(member), series_.begin_of(member)});
  if (!is_known && !saved_.facts.trained.to.empty())
    series_.notes.push_back(
        fmt::format("which rows validate is by the recipe's split: training ended with {}, and the rows "
                    "begin with {}",
                    saved_.facts.trained.to, series_.times.text(0)));
}

WindowForecast Forecaster::window_forecast(int64_t origin, Series read) {
  const Recipe& recipe = saved_.recipe;
  const Scaling& scaling = saved_.facts.scaling;
  const int horizon = recipe.data.horizon, member = series_.member_of(origin);
  const int64_t begin = origin - recipe.data.window;  // the row that is the first to read
  const size_t count = targets().size();
  std::vector<std::vector<double>> found(recipe.outputs(), std::vector<double>(steps_ * count));
  for (int first = 0; first < steps_; first += horizon) {
    const std::vector<real> scaled =  // [outputs, horizon, targets]
        model_->predict(windows_->input_before(origin + first, read, begin)).to_host();
    for (int q = 0; q < recipe.outputs(); ++q)
      for (int k = 0; k < std::min(horizon, steps_ - first); ++k)
        for (size_t t = 0; t < count; ++t) {
          const double value = scaling.undo(static_cast<double>(scaled[(q * horizon + k) * count + t]),
                                            scaling.place(targets()[t], member));
          require(std::isfinite(value),
                  "forecast: step {} is not finite: the model cannot go on from its own forecasts so far",
                  first + k + 1);
          found[q][(first + k) * count + t] = value;
          if (q == recipe.middle_output())
            read.values[(origin - begin + first + k) * read.width() + targets()[t]] =
                bounds_->at(origin, t).clamp(value);
        }
  }
  const std::vector<double>& middle = found[recipe.middle_output()];
  if (!has_quantile_interval(recipe, steps_)) return {origin, middle, middle, middle};
  return {origin, middle, found.front(), found.back()};
}

std::optional<SeriesWindows> Forecaster::windows_of(const Part& part) const {
  Recipe recipe = saved_.recipe;
  recipe.data.horizon = std::max(steps_, recipe.data.horizon);
  return windows_if_any(recipe, series_, saved_.facts.scaling, part);
}

bool Forecaster::each_forecast(SeriesWindows& windows, const ForecastUse& use) {
  if (steps_ <= saved_.recipe.data.horizon)  // whole horizons, as evaluate() has them
    return forecasts_of(saved_.recipe, *model_)(windows, [&](WindowForecast& forecast) {
      for (auto* part : {&forecast.values, &forecast.low, &forecast.high})
        part->resize(steps_ * targets().size());
      use(forecast);
    });
  const int64_t count = forecasts_in(windows);
  for (int64_t k = 0; k < count; ++k) {
    stop_if_signalled();
    WindowForecast forecast = window_forecast(windows.origins()[k * windows.count() / count]);
    use(forecast);
  }
  return true;
}

int64_t Forecaster::forecasts_in(const SeriesWindows& windows) const {
  constexpr int64_t most = 200;  // they are made one by one
  return steps_ <= saved_.recipe.data.horizon ? windows.count() : std::min(most, windows.count());
}

std::optional<ForecastInterval> Forecaster::make_interval() {
  const bool quantiles = has_quantile_interval(saved_.recipe, steps_);
  const auto fresh = [&] {
    return timeseries::make_interval(saved_.recipe, saved_.facts.trained, *windows_, steps_, quantiles);
  };
  const auto learn = [&](ForecastInterval& interval, SeriesWindows& windows, bool chose) {
    const Forecasts forecasts = [&](SeriesWindows& of, const ForecastUse& use) {
      return each_forecast(of, use);
    };
    learn_from(interval, forecasts, windows, chose, forecasts_in(windows));
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
  const std::vector<double> zeros(steps_ * targets().size());
  WindowForecast none{known_end(0), zeros, zeros, zeros};
  interval.put(none);  // all that is known by now
  if (interval.widths.is_known() || (is_clean && quantiles)) return interval;
  // A longer forecast, or a short file: whatever did not train sets the width, and nothing is left to be counted.
  auto windows = windows_of(all_);
  interval = fresh();
  if (windows) {
    learn(interval, *windows, false);
    interval.put(none);
    interval.errors_of = "all rows that did not train";
  }
  if (interval.widths.is_known() || quantiles) return interval;
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
  const auto of_inputs = read.warning(series_, FarOutside::inputs);
  return of_inputs ? of_inputs : forecast.warning(series_, FarOutside::forecasts);
}

Forecast Forecaster::forecast(int64_t origin) {
  WindowForecast found = window_forecast(origin);
  Forecast forecast{{origin, found.values, {}, {}}};
  const Scaling& scaling = windows_->scaling();
  for (const int target : targets())
    forecast.scale.push_back(scaling.at(scaling.place(target, series_.member_of(origin))).scale);
  forecast.warning = warning(origin, found);  // before it is bounded
  bounds_->clamp(origin, forecast.values);
  if (!interval_) interval_ = make_interval();
  auto& interval = *interval_;
  if (!interval) {
    forecast.interval = fmt::format(
        "none: fewer than 8 forecasts of {} step{} lie in the rows that did not train, to measure its width by",
        steps_, plural(steps_));
    return forecast;
  }
  const std::vector<Hole> holes = holes_before(origin);
  interval->put(found, further_by(holes, *interval));
  forecast.values = found.values, forecast.low = found.low, forecast.high = found.high;
  forecast.interval = describe(*interval, saved_.recipe);
  const bool is_complete = std::ranges::none_of(found.low, [](double v) { return std::isnan(v); });
  if (!holes.empty())
    forecast.interval +=
        fmt::format("; it reads {} value{} that {} missing, {}", holes.size(), plural(holes.size()),
                    holes.size() == 1 ? "is" : "are",
                    is_complete ? "and is as much wider as forecasts of earlier rows err more without them"
                                : "and rows are too few to measure what that costs");
  else if (!is_complete)
    forecast.interval += "; steps whose interval would have no width have none";
  return forecast;
}

ForecastOutput Forecaster::forecast_all() {
  ForecastOutput output(series_, targets(), steps_, only_);
  for (const int member : forecast_) {
    stop_if_signalled();
    output.all.push_back(forecast(known_end(member)));
  }
  return output;
}

// --- how much less certain a forecast is for the values that are missing before it -------------------------

std::vector<Forecaster::Hole> Forecaster::holes_before(int64_t origin) const {
  std::vector<Hole> holes;
  std::set<int> channels(windows_->options().inputs.begin(), windows_->options().inputs.end());
  channels.insert(targets().begin(), targets().end());
  const int64_t begin = series_.begin_of(series_.member_of(origin - 1));
  for (int64_t row = std::max(begin, origin - saved_.recipe.data.window); row < origin; ++row)
    for (const int channel : channels)
      if (series_.is_filled(row, channel)) holes.push_back({origin - row, channel});
  return holes;
}

WindowForecast Forecaster::forecast_over(int64_t origin, const std::vector<Hole>& holes) {
  // From the row before the window on, which may fill its first one.
  const int64_t window = saved_.recipe.data.window, begin = series_.begin_of(series_.member_of(origin - 1)),
                more = std::min<int64_t>(1, origin - window - begin);
  Series rows = rows_from(origin, more);
  const auto at = [&](int64_t row, int channel) {
    return (row - (origin - window - more)) * rows.width() + channel;
  };
  for (const auto& [rows_before, channel] : holes) rows.filled[at(origin - rows_before, channel)] = 1;
  for (const auto& [rows_before, channel] : holes) {
    const int64_t row = origin - rows_before, before = row - 1;
    if (before < begin) continue;
    int64_t next = row + 1;
    while (next < origin && rows.filled[at(next, channel)]) ++next;
    double value = rows.values[at(before, channel)];
    if (saved_.recipe.data.missing == Missing::interpolate && next < origin)
      value += (rows.values[at(next, channel)] - value) / static_cast<double>(next - before);
    rows.values[at(row, channel)] = value;
    const auto mark = std::ranges::find(rows.channels, rows.channels[channel] + " missing");
    if (saved_.recipe.data.missing == Missing::mask && mark != rows.channels.end())
      rows.values[at(row, static_cast<int>(mark - rows.channels.begin()))] = 1;
  }
  return window_forecast(origin, rows.part(more, rows.rows()));
}

std::vector<double> Forecaster::further_by(const std::vector<Hole>& holes, ForecastInterval& interval) {
  if (holes.empty()) return {};
  constexpr int64_t enough = 30, most = 100, most_of_all = 4000;
  auto windows = windows_of(all_);  // rows that trained flatter, but where others are too few
  if (!windows || windows->count() < enough) windows = windows_of(known_);
  const size_t values = steps_ * targets().size();
  std::vector<double> further(values, std::nan(""));
  if (!windows || windows->count() < ConformalInterval::least_errors) return further;
  std::vector<std::vector<double>> whole_errors(values), errors_with_holes(values);
  const auto add_errors = [&](const WindowForecast& found, std::vector<std::vector<double>>& errors) {
    const std::vector<double> of = interval.widths.errors_of(found.origin, found.low, found.high);
    for (size_t i = 0; i < values; ++i)
      if (std::isfinite(of[i])) errors[i].push_back(of[i]);
  };
  const int64_t count =
      std::min({windows->count(), most, std::max<int64_t>(most_of_all / std::ssize(forecast_), most / 4)});
  for (int64_t k = 0; k < count; ++k) {
    stop_if_signalled();
    const int64_t origin = windows->origins()[k * windows->count() / count];
    add_errors(window_forecast(origin), whole_errors);
    add_errors(forecast_over(origin, holes), errors_with_holes);
  }
  const auto reach = [&](std::vector<double>& errors) {
    std::ranges::sort(errors);
    const auto n = static_cast<double>(errors.size());
    return errors[static_cast<size_t>(std::min(std::ceil(interval.widths.options().level * (n + 1)), n)) - 1];
  };
  for (size_t i = 0; i < values; ++i)
    if (std::ssize(whole_errors[i]) >= ConformalInterval::least_errors)
      further[i] = std::max(0.0, reach(errors_with_holes[i]) - reach(whole_errors[i]));
  return further;
}

}  // namespace timeseries
