// timeseries forecast FILE.csv: a series without a recipe or a model, forecast by the mean of a few forecasters.
#pragma once

#include <string>
#include <vector>

#include "examples/timeseries/commands/forecast_output.h"
#include "examples/timeseries/commands/model_or_series.h"

namespace timeseries {

struct ForecastOptions : ModelOrSeries {
  std::string future, members;  // --future, --members
  int steps = 0;
  bool json = false;

  // Throws InputError if --series names one where there is one series.
  void check_series(const Recipe& recipe, const std::string& of) const;
  // Prints the forecasts or writes them to --out, prints the JSON if that is asked for, warns, and draws the first.
  void give(const ForecastRows& rows, const std::vector<Forecast>& all, const nlohmann::ordered_json& json,
            size_t drawn) const;
};

// Whether an override asks for what only a network can read: columns that are known ahead.
bool needs_network(const std::vector<Override>& overrides);
// Throws InputError: the file cannot be read, fewer than three rows, a key or an option that has no effect here.
void forecast_file(const Command& command, const ForecastOptions& asked);

}  // namespace timeseries
