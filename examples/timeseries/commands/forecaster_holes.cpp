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

void Forecaster::with_holes(int64_t origin, const std::vector<Hole>& holes,
                            const std::function<void()>& use) {
  const auto first = static_cast<size_t>((origin - saved_.recipe.data.window) * series_.width());
  const auto last = static_cast<size_t>(origin * series_.width());
  const auto copy_of = [&](const auto& all) {
    return std::vector(all.begin() + static_cast<int64_t>(first), all.begin() + static_cast<int64_t>(last));
  };
  const auto values = copy_of(series_.values);
  const auto filled = copy_of(series_.filled);
  const auto at = [&](int64_t row, int channel) {
    return static_cast<size_t>(row * series_.width() + channel);
  };
  for (const auto& [rows_before, channel] : holes) series_.filled[at(origin - rows_before, channel)] = 1;
  for (const auto& [rows_before, channel] : holes) {
    const int64_t row = origin - rows_before, before = row - 1;
    if (before < series_.begin_of(series_.member_of(row))) continue;
    int64_t next = row + 1;
    while (next < origin && series_.is_filled(next, channel)) ++next;
    double value = series_.at(before, channel);
    if (saved_.recipe.data.missing == Missing::interpolate && next < origin)
      value += (series_.at(next, channel) - value) / static_cast<double>(next - before);
    series_.values[at(row, channel)] = value;
    const auto mark =
        std::ranges::find(series_.channels, series_.channels[static_cast<size_t>(channel)] + " missing");
    if (saved_.recipe.data.missing == Missing::mask && mark != series_.channels.end())
      series_.values[at(row, static_cast<int>(mark - series_.channels.begin()))] = 1;
  }
  use();
  std::ranges::copy(values, series_.values.begin() + static_cast<int64_t>(first));
  std::ranges::copy(filled, series_.filled.begin() + static_cast<int64_t>(first));
}

std::vector<double> Forecaster::further_by(const std::vector<Hole>& holes, ForecastInterval& interval) {
  if (holes.empty()) return {};
  Part whole;
  for (int member = 0; member < series_.count(); ++member) {
    const int64_t begin = series_.begin_of(member);
    whole.push_back({begin + (ensemble_ ? ensemble_->history() : 0), known_end(member), begin});
    if (whole.back().begin >= whole.back().end) whole.pop_back();
  }
  constexpr int64_t enough = 30, most = 100, most_of_all = 4000;
  auto windows = windows_of(all_);  // rows that trained flatter, but where others are too few
  if (!windows || windows->count() < enough) windows = windows_of(whole);
  const size_t values = static_cast<size_t>(steps_) * targets().size();
  std::vector<double> further(values, std::nan(""));
  if (!windows || windows->count() < ConformalInterval::least_errors) return further;
  std::vector<std::vector<double>> whole_errors(values), errors_with_holes(values);
  const auto add_errors = [&](int64_t origin, std::vector<std::vector<double>>& errors) {
    const WindowForecast found = window_forecast(origin);
    const std::vector<double> of = interval.widths.errors_of(origin, found.low, found.high);
    for (size_t i = 0; i < values; ++i)
      if (std::isfinite(of[i])) errors[i].push_back(of[i]);
  };
  const int64_t count =
      std::min({windows->count(), most, std::max<int64_t>(most_of_all / std::ssize(forecast_), most / 4)});
  for (int64_t k = 0; k < count; ++k) {
    stop_if_signalled();
    const int64_t origin = windows->origins()[static_cast<size_t>(k * windows->count() / count)];
    add_errors(origin, whole_errors);
    with_holes(origin, holes, [&] { add_errors(origin, errors_with_holes); });
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
