// The series of a file without a recipe or a model, forecast by the mean of a few forecasters.
#pragma once

#include <string>
#include <vector>

#include "examples/timeseries/commands/forecast_output.h"
#include "examples/timeseries/recipe/recipe.h"
#include "training/report/run_description.h"

namespace timeseries {

struct FileForecasts {
  // Reads the series. `guessed`: the recipe for it. `csv`: standard input, or empty: the recipe's file. `count` 0: the
  // recipe's horizon. `only`: the one of several series that is forecast. Throws InputError: no such file or series.
  FileForecasts(const Recipe& guessed, const std::filesystem::path& csv, int64_t count,
                const std::string& only);
  FileForecasts(const FileForecasts&) = delete;  // the output refers to the series
  FileForecasts& operator=(const FileForecasts&) = delete;
  // Forecasts by these members of the mean, or by all. Each column of each series has its own season, unless the user told one
  // (`season_is_told`). Throws InputError: no series has three rows with a value.
  void forecast(const std::vector<std::string>& members = {}, bool season_is_told = false);

  Recipe recipe;
  Series series;
  std::vector<int> chosen = {};      // the series to forecast
  ForecastOutput output;             // of those with rows enough
  RunDescription::Table table = {};  // weights and errors of the members
  std::vector<std::string> warnings = {}, notes = {};
};

}  // namespace timeseries
