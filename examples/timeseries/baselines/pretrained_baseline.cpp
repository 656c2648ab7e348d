// The forecaster that ships with the program (examples/timeseries/pretrained/), among the baselines.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "examples/timeseries/baselines/baselines.h"
#include "examples/timeseries/pretrained/pretrained.h"

namespace unroll {
namespace {

using timeseries::PretrainedForecaster;

std::vector<double> read(const Series& series, int64_t origin, int channel) {
  return timeseries::values_before(series, series.begin_of(series.member_of(origin - 1)), origin, channel);
}

bool can_be_read(std::span<const double> values) {
  return std::ranges::count_if(values, [](double v) { return std::isfinite(v); }) >= 3 &&
         std::ranges::none_of(values, [](double v) { return std::isinf(v); });
}

// Forecasts that were made, by origin and channel, of one series.
struct Kept {
  int64_t period;
  const Series* series = nullptr;
  std::map<std::pair<int64_t, int>, PretrainedForecaster::Quantiles> found = {};

  // Makes those that are not there, or too short, all at once. A forecast that cannot be made has no steps.
  void make(const Series& now, std::span<const int64_t> origins, int channel, std::size_t steps) {
    if (series != &now) series = &now, found.clear();
    std::vector<std::vector<double>> rows;
    std::vector<int64_t> wanted;
    for (const int64_t origin : origins) {
      const auto known = found.find({origin, channel});
      if (known != found.end() && known->second.size() >= steps) continue;
      rows.push_back(read(now, origin, channel)), wanted.push_back(origin);
      if (!can_be_read(rows.back())) rows.pop_back(), wanted.pop_back();
    }
    if (wanted.empty()) return;
    std::vector<timeseries::PretrainedInput> inputs;
    for (const std::vector<double>& values : rows) inputs.push_back({values, period});
    auto quantiles = PretrainedForecaster::bundled().forecast(inputs, static_cast<int64_t>(steps));
    for (std::size_t k = 0; k < wanted.size(); ++k) found[{wanted[k], channel}] = std::move(quantiles[k]);
  }

  // Writes the quantile of one of the levels. NaN: there is none.
  void write(const Series& now, int64_t origin, int channel, double level, std::span<double> to) {
    make(now, {&origin, 1}, channel, to.size());
    const auto levels = PretrainedForecaster::levels();
    const auto place = std::ranges::find(levels, level) - levels.begin();
    require(place < std::ssize(levels), "pretrained: no quantile {}", level);
    const auto& all = found[{origin, channel}];
    for (std::size_t h = 0; h < to.size(); ++h)
      to[h] = h < all.size() ? all[h][static_cast<std::size_t>(place)] : std::nan("");
  }
};

}  // namespace

Fitted pretrained(const BaselineRows& rows) {
  if (rows.train.empty()) return std::nullopt;
  for (const int channel : rows.targets)
    if (!can_be_read(read(rows.series, rows.train.back().end, channel))) return std::nullopt;
  const auto kept = std::make_shared<Kept>(Kept{rows.keys.period});
  return ForecastBaseline{
      .name = "pretrained",
      .history = 3,
      .forecast = [kept](const Series& now, int64_t origin, int channel,
                         std::span<double> to) { kept->write(now, origin, channel, 0.5, to); },
      .detail = "",
      .interval =
          [kept](const Series& now, int64_t origin, int channel, std::span<double> low,
                 std::span<double> high) {
            kept->write(now, origin, channel, 0.1, low), kept->write(now, origin, channel, 0.9, high);
          },
      .prepare = [kept](const Series& now, std::span<const int64_t> origins, int channel,
                        std::size_t steps) { kept->make(now, origins, channel, steps); }};
}

}  // namespace unroll
