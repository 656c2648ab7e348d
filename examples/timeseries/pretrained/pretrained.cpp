#include "examples/timeseries/pretrained/pretrained.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "examples/timeseries/pretrained/model_file.h"
#include "framework/signals.h"

extern "C" const char unroll_forecaster[], unroll_forecaster_end[];  // bundled.S

namespace timeseries {

SafetensorsFile bundled_forecaster() {
  return {"the bundled forecaster",
          {unroll_forecaster, static_cast<size_t>(unroll_forecaster_end - unroll_forecaster)}};
}

std::vector<double> values_before(const Series& series, int64_t begin, int64_t origin, int channel) {
  std::vector<double> values;
  for (int64_t row = std::max(begin, origin - most_context); row < origin; ++row)
    if (!series.is_filled(row, channel))
      values.push_back(series.at(row, channel));
    else if (!values.empty())
      values.push_back(std::numeric_limits<double>::quiet_NaN());
  return values;
}

// Series that are computed at once, always as many: so a series' bits do not depend on others.
constexpr int at_once = 16;

PretrainedForecaster::PretrainedForecaster(const SafetensorsFile& file) : network_(read_forecaster(file)) {}
PretrainedForecaster::PretrainedForecaster(const std::string& path)
    : PretrainedForecaster(SafetensorsFile(path)) {}

const PretrainedForecaster& PretrainedForecaster::bundled() {
  static const PretrainedForecaster forecaster(bundled_forecaster());
  return forecaster;
}

std::span<const double> PretrainedForecaster::levels() { return forecast_levels; }

namespace {

// A series while it is forecast: its last rows, and then medians.
struct OngoingForecast {
  OngoingForecast(const PretrainedInput& input)
      : values(input.values.begin(), input.values.end()), season(input.season) {
    keep_last_rows();
    values.erase(values.begin(), std::ranges::find_if(values, [](double v) { return !std::isnan(v); }));
    const int64_t observed = std::ranges::count_if(values, [](double v) { return !std::isnan(v); });
    require_input(observed >= 3, "forecast: 3 values are needed, and {} of the last {} are there", observed,
                  most_context);
    require_input(std::ranges::none_of(values, [](double v) { return std::isinf(v); }),
                  "forecast: a value is infinite");
    require_input(season >= 1, "forecast: a season of {} rows is none", season);
  }
  void keep_last_rows() {
    if (std::ssize(values) > most_context) values.erase(values.begin(), values.end() - most_context);
  }
  // Takes the quantiles of the next rows, in the series' unit: [rows][levels].
  void go_on(PretrainedForecaster::Quantiles rows) {
    const std::vector<double> before = spread;
    for (std::vector<double>& row : rows) {
      const double median = row[median_level];
      for (size_t k = 0; k < row.size(); ++k) {
        const double deviation = row[k] - median;
        spread[k] = std::copysign(std::hypot(deviation, before[k]), deviation);
        row[k] = median + spread[k];
      }
      forecast.push_back(std::move(row));
      values.push_back(median);
    }
    keep_last_rows();
  }

  std::vector<double> values;
  int64_t season;
  std::vector<double> spread =
      std::vector<double>(forecast_levels.size());  // of the last row: quantiles less the median
  PretrainedForecaster::Quantiles forecast;
};

// The next rows of series whose contexts have equal numbers of segments.
void forecast_together(const PretrainedNetwork& network, std::span<OngoingForecast* const> series,
                       int64_t steps) {
  ForecastBatch batch(segments_of(std::ssize(series[0]->values)), segments_of(steps), at_once);
  for (size_t place = 0; place < series.size(); ++place)
    batch.put(static_cast<int>(place), series[place]->values, series[place]->season);
  std::vector<std::vector<real>> quantiles;
  for (const Var& quantile : network(batch)) quantiles.push_back(quantile.value().to_host());
  for (size_t place = 0; place < series.size(); ++place) {
    PretrainedForecaster::Quantiles rows;
    for (int64_t i = 0; i < steps; ++i) {
      const size_t at = batch.at(static_cast<int>(place), i);
      std::vector<double>& row = rows.emplace_back();
      for (const std::vector<real>& quantile : quantiles)
        row.push_back(batch.value(static_cast<int>(place), static_cast<double>(quantile[at])));
    }
    series[place]->go_on(std::move(rows));
  }
}

}  // namespace

std::vector<PretrainedForecaster::Quantiles> PretrainedForecaster::forecast(
    std::span<const PretrainedInput> series, int64_t steps) const {
  require_input(steps >= 1, "forecast: {} steps are none", steps);
  const NoTape guard;
  std::vector<OngoingForecast> forecasts(series.begin(), series.end());
  for (int64_t done = 0; done < steps; done += most_ahead) {
    stop_if_signalled();
    std::map<int, std::vector<OngoingForecast*>> by_segments;
    for (OngoingForecast& one : forecasts) by_segments[segments_of(std::ssize(one.values))].push_back(&one);
    for (const auto& [segments, alike] : by_segments)
      for (size_t k = 0; k < alike.size(); k += at_once)
        forecast_together(*network_, std::span(alike).subspan(k, std::min<size_t>(at_once, alike.size() - k)),
                          std::min<int64_t>(steps - done, most_ahead));
  }
  std::vector<Quantiles> result;
  for (OngoingForecast& one : forecasts) result.push_back(std::move(one.forecast));
  return result;
}

PretrainedForecaster::Quantiles PretrainedForecaster::forecast(std::span<const double> values, int64_t season,
                                                               int64_t steps) const {
  const PretrainedInput input{values, season};
  return std::move(forecast(std::span(&input, 1), steps).front());
}

}  // namespace timeseries
