// How much less certain a forecast is for the values that are missing before it.
#include <algorithm>
#include <cmath>
#include <set>

#include "examples/timeseries/commands/forecaster.h"
#include "framework/signals.h"

namespace timeseries {

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
  const int64_t begin = series_.begin_of(series_.member_of(origin - 1)),
                first = std::max(begin, origin - saved_.recipe.data.window - 1);
  Series rows = series_.part(first, origin + beyond_);
  const auto at = [&](int64_t row, int channel) {
    return static_cast<size_t>((row - first) * rows.width() + channel);
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
    const auto mark =
        std::ranges::find(rows.channels, rows.channels[static_cast<size_t>(channel)] + " missing");
    if (saved_.recipe.data.missing == Missing::mask && mark != rows.channels.end())
      rows.values[at(row, static_cast<int>(mark - rows.channels.begin()))] = 1;
  }
  return window_forecast(origin, {rows, first});
}

std::vector<double> Forecaster::further_by(const std::vector<Hole>& holes, ForecastInterval& interval) {
  if (holes.empty()) return {};
  Part whole;
  for (int member = 0; member < series_.count(); ++member) {
    const int64_t begin = series_.begin_of(member);
    whole.push_back({begin, known_end(member), begin});
    if (whole.back().begin >= whole.back().end) whole.pop_back();
  }
  constexpr int64_t enough = 30, most = 100, most_of_all = 4000;
  auto windows = windows_of(all_);  // rows that trained flatter, but where others are too few
  if (!windows || windows->count() < enough) windows = windows_of(whole);
  const size_t values = static_cast<size_t>(steps_) * targets().size();
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
    const int64_t origin = windows->origins()[static_cast<size_t>(k * windows->count() / count)];
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
