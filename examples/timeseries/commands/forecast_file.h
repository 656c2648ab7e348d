// timeseries forecast FILE.csv: a series without a recipe or a model, forecast by the mean of a few forecasters.
#pragma once

#include <string>
#include <vector>

#include "examples/timeseries/commands/forecast_output.h"
#include "examples/timeseries/commands/model_or_series.h"
#include "training/report/run_description.h"

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

// The forecasts of the series in a file, each by the mean of a few forecasters.
struct FileForecasts {
  // Reads the series. `guessed`: the recipe for it. `csv`: standard input, or empty: the recipe's file. `count` 0: the
  // recipe's horizon. `only`: the one of several series that is forecast. Throws InputError: no such file or series.
  FileForecasts(const Recipe& guessed, const std::filesystem::path& csv, int64_t count,
                const std::string& only);
  FileForecasts(const FileForecasts&) = delete;  // the rows refer to the series
  FileForecasts& operator=(const FileForecasts&) = delete;
  // Forecasts by these members of the mean, or by all. Each column of each series has its own season, unless the user told one
  // (`season_is_told`). Throws InputError: no series has three rows with a value.
  void forecast(std::vector<std::string> members = {}, bool season_is_told = false);

  Recipe recipe;
  Series series;
  ForecastRows rows;
  std::vector<int> chosen;           // the series to forecast
  std::vector<Forecast> all = {};    // of those with rows enough
  nlohmann::ordered_json json = {};  // of each
  RunDescription::Table table = {};  // weights and errors of the members
  std::vector<std::string> warnings = {}, notes = {};
};

// Whether an override asks for what only a network can read: columns that are known ahead.
bool needs_network(const std::vector<Override>& overrides);
// Throws InputError: the file cannot be read, fewer than three rows, a key or an option that has no effect here.
void forecast_file(const Command& command, const ForecastOptions& asked);

}  // namespace timeseries
