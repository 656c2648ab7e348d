// The numbers of `timeseries look FILE.csv`: what a forecast of the network that ships with the program rests on.
#pragma once

#include <string>

#include "examples/timeseries/series/series.h"

namespace timeseries {

using namespace unroll;

// One forecast of the network: of `steps` rows of a channel from `origin` on, by the rows of its series before.
struct LookedForecast {
  const Series& series;  // with times of all rows to forecast
  int64_t rows;          // end of the rows that the file has of this series; the origin is not beyond it
  int channel;
  int64_t origin, steps, season;
};

// The JSON that the page reads, as look_json has it for a trained model. A row's gradient is the central difference of the
// median over a fiftieth of the series' scale. So it includes the effect on level, season and scale, which are measured on the
// same rows. `path`: the file. Throws InputError: more than 64 steps, fewer than 3 values, or values that are all alike.
std::string look_json(const LookedForecast& looked, const std::string& title, const std::string& path);

}  // namespace timeseries
