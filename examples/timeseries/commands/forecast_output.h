// Forecasts as CSV, as JSON and as a picture, whatever made them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "examples/timeseries/model/interval.h"
#include "examples/timeseries/series/series.h"
#include "training/report/chart.h"

namespace timeseries {

using namespace unroll;

// A forecast of some steps of one series, in original units.
struct Forecast : WindowForecast {  // `low` and `high` are empty: the interval is not known
  std::string interval = {};  // what it is, and how many values of the test lie within; or why there is none
  std::optional<std::string> warning = {};  // of values far outside of those that trained the model
};

// The series with times beyond its rows, and which of it is forecast. `only`: the name of the one series, if that is wanted.
struct ForecastRows {
  ForecastRows(const Series& of, std::vector<int> channels, int64_t count, const std::string& only);

  const Series& series;
  std::vector<int> targets;
  int64_t steps;
  bool names;                              // of several series: each row begins with its series' name
  std::vector<std::vector<double>> scale;  // [series][targets]: a value has six digits of it

  // The forecasts of all series as one table. Columns: time, then for each target its value and, if known, its interval.
  std::string csv(const std::vector<Forecast>& all) const;
  // {"time": [...], "forecast": {"sales": {"values": [...], "low": [...], "high": [...]}}, "interval": "..."}
  nlohmann::ordered_json json(const Forecast& forecast) const;
  // The rows before a forecast, it, and its interval. One target.
  Chart chart(const Forecast& forecast, size_t target) const;
};

// The series of this name. Throws InputError, with the nearest name, if there is none: "{where} has no series …".
int series_named(const Series& series, const std::string& name, const std::string& where);
// "series 'north': ". "": there is one series.
std::string name_of_series(const Series& series, int64_t row);
// Warns of up to five series.
void warn(const Series& series, const std::vector<Forecast>& all);

}  // namespace timeseries
