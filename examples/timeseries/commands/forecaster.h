// Forecasts from any row of a series, also further than the model's horizon; and their interval (interval.h).
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "examples/timeseries/commands/forecast_output.h"
#include "examples/timeseries/data/series_data.h"
#include "examples/timeseries/model/interval.h"
#include "examples/timeseries/model/saved_model.h"

namespace timeseries {

class Forecaster {
 public:
  // Reads the series as the model's recipe says, and can forecast `steps` rows beyond its end. Throws
  // InputError: other channels, too few rows, or steps beyond the horizon of a model that reads what it does
  // not forecast. `future`: a file of what is known of the rows to forecast; empty: nothing is, which is an InputError where the
  // model reads it. `only`: the one of several series that is forecast, by the errors of all; empty: each.
  Forecaster(const SavedModel& saved, const std::filesystem::path& csv, int steps,
             const std::filesystem::path& future = {}, const std::string& only = {});
  Forecaster(const Forecaster&) = delete;  // windows refer to the series
  Forecaster& operator=(const Forecaster&) = delete;

  // From the end of each series that has rows enough.
  ForecastOutput forecast_all();

  const Series& series() const { return series_; }
  const std::vector<int>& targets() const { return windows_->options().targets; }

 private:
  // The end of the rows that the file has of a series.
  int64_t known_end(int member) const { return series_.end_of(member) - beyond_; }
  // From the row `origin`, of which and of later rows it knows nothing but their times.
  Forecast forecast(int64_t origin);
  // A forecast before an interval is put around it. Beyond the horizon it reads its own forecasts.
  WindowForecast window_forecast(int64_t origin) { return window_forecast(origin, rows_from(origin)); }
  // `read`: those rows, with other values in some places.
  WindowForecast window_forecast(int64_t origin, Series read);
  // The rows of the window, and `more` before it, to the end of the forecast.
  Series rows_from(int64_t origin, int64_t more = 0) const {
    return series_.part(origin - saved_.recipe.data.window - more, origin + beyond_);
  }
  // Windows of a part, of a horizon or as many steps as are asked for. None: there is no such window.
  std::optional<SeriesWindows> windows_of(const Part& part) const;
  // Forecasts all windows in order of time; if it goes on beyond the horizon, 200 of them at most.
  bool each_forecast(SeriesWindows& windows, const ForecastUse& use);
  int64_t forecasts_in(const SeriesWindows& windows) const;
  std::optional<ForecastInterval> make_interval();
  // Values that a forecast reads and nobody saw, in order of time.
  struct Hole {
    int64_t rows_before;
    int channel;
  };
  std::vector<Hole> holes_before(int64_t origin) const;
  // A forecast that reads such holes before its origin, filled in as the recipe says.
  WindowForecast forecast_over(int64_t origin, const std::vector<Hole>& holes);
  // How much further an interval must reach since these values are missing [steps, targets], in its units: by forecasts of rows that
  // the file has, with the same holes and without. NaN: these are too few.
  std::vector<double> further_by(const std::vector<Hole>& holes, ForecastInterval& interval);
  std::optional<std::string> warning(int64_t origin, const WindowForecast& found) const;

  SavedModel saved_;
  int steps_;
  std::string only_;
  int64_t beyond_ = 0;  // rows at the end of each series that the file does not have
  std::vector<int> forecast_;
  std::vector<int64_t> untrained_;  // by series: rows from here on did not train
  Part valid_, test_, all_;         // what did not, of these splits, and of all rows
  Part known_;                      // all rows that the file has
  Series series_;                   // nothing writes into it after the constructor
  std::unique_ptr<SeriesWindows> windows_;
  std::unique_ptr<SeriesModel> model_;
  std::optional<SeriesBounds> bounds_;
  std::optional<std::optional<ForecastInterval>> interval_;  // once it is measured
};

}  // namespace timeseries
