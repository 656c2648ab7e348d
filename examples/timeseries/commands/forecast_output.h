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
  std::vector<double> scale = {};   // by target: a value has six digits of it
  std::string interval = {};  // what it is, and how many values of the test lie within; or why there is none
  std::optional<std::string> warning = {};         // of values far outside of those that trained the model
  std::vector<nlohmann::ordered_json> facts = {};  // by target, of what made it; empty: none
};

// The forecasts of a file's series. `only`: the name of the one series, if that is wanted.
struct ForecastOutput {
  ForecastOutput(const Series& of, std::vector<int> channels, int64_t count, const std::string& only);

  const Series& series;  // with times beyond its rows
  std::vector<int> targets;
  int64_t steps;
  bool names;                      // of several series: each row begins with its series' name
  std::vector<Forecast> all = {};  // at least one

  // One table. Columns: time, then for each target its value and, if known, its interval.
  std::string csv() const;
  // [{"time": [...], "forecast": {"sales": {"values": [...], "low": [...], "high": [...]}}, "interval": "..."}]
  nlohmann::ordered_json json() const;
  // The rows before the first forecast, it, and its interval. One target.
  Chart chart(size_t target) const;
  // The forecasts' warnings, each with the name of its series if there are several: "series 'north': …".
  std::vector<std::string> warnings() const;
};

// The series of this name. Throws InputError, with the nearest name, if there is none: "{where} has no series …".
int series_named(const Series& series, const std::string& name, const std::string& where);

}  // namespace timeseries
