// A forecaster that was trained once, on synthetic series, and forecasts series that it never saw.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "examples/timeseries/series/series.h"
#include "training/files/safetensors.h"

namespace timeseries {

struct PretrainedNetwork;

// The file of the forecaster that ships with the program.
unroll::SafetensorsFile bundled_forecaster();

// The rows [begin, origin) of a channel, 512 at most, from the first observed one on. NaN: missing.
std::vector<double> values_before(const unroll::Series& series, int64_t begin, int64_t origin, int channel);

// One series to forecast. NaN: the value is missing.
struct PretrainedInput {
  std::span<const double> values;  // [rows], at least 3 of the last 512 observed
  int64_t season = 1;             // rows in one; 1: none
};

// Quantiles of the next rows of a series, by the network that ships with the program or by another file.
class PretrainedForecaster {
 public:
  // [steps][quantiles], in the order of levels(), never crossing.
  using Quantiles = std::vector<std::vector<double>>;

  // The forecaster that ships with the program. It is read once.
  static const PretrainedForecaster& bundled();
  // Reads a model's file. Throws InputError, with its name, if it is damaged or not a pretrained forecaster.
  explicit PretrainedForecaster(const std::string& path);

  // The levels of the quantiles, ascending, in (0, 1); 0.1, 0.5 and 0.9 are among them.
  static std::span<const double> levels();

  // Reads the last 512 rows. If the values are a > 0 times others, the forecast is a times theirs. After 64 steps it goes on from
  // its own medians, and the deviations from the median add up as those of independent errors. A series whose observed values are
  // all alike is forecast by that value. Throws InputError if fewer than 3 of these rows are observed, a value is infinite, or season
  // or steps are below 1.
  Quantiles forecast(std::span<const double> values, int64_t season, int64_t steps) const;
  // Many series at once: the same bits as one by one, in less time.
  std::vector<Quantiles> forecast(std::span<const PretrainedInput> series, int64_t steps) const;

 private:
  explicit PretrainedForecaster(const unroll::SafetensorsFile& file);
  std::shared_ptr<const PretrainedNetwork> network_;
};

}  // namespace timeseries
