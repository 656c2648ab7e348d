// Forecasts from any row of a series, also further than the model's horizon; and how far such forecasts have
// been off.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "saved_model.h"
#include "series_data.h"
#include "training/chart.h"

namespace timeseries {

// Of so many steps; values in original units.
struct Forecast {
  int64_t origin = 0;             // the row of the first step
  std::vector<double> values;     // [steps, targets]
  std::vector<double> low, high;  // an interval around them; empty: not known
  // What it is, and how many values of held-out rows lay within such intervals; or why there is none:
  // "80 %, from the errors of 120 forecasts of held-out rows; of the values of 120 such forecasts 84 % lay within"
  std::string interval;
};

class Forecaster {
 public:
  // Reads the series as the model's recipe says, and can forecast `steps` rows beyond its end. Throws
  // InputError: other channels, too few rows, or steps beyond the horizon of a model that reads what it does
  // not forecast.
  Forecaster(const SavedModel& saved, const std::filesystem::path& csv, int steps);
  Forecaster(const Forecaster&) = delete;  // windows refer to the series
  Forecaster& operator=(const Forecaster&) = delete;

  // From the row `origin`, of which and of later rows it knows nothing but their times.
  Forecast forecast(int64_t origin);

  const Series& series() const { return series_; }
  int64_t rows() const { return rows_; }  // that the file has
  int steps() const { return steps_; }
  const std::vector<int>& targets() const { return windows_->options().targets; }

 private:
  // Predictions [outputs, steps, targets]. What was forecast is read where the horizon is not enough.
  std::vector<double> go_on(int64_t origin);
  // How far forecasts of held-out rows before `origin` were off, [count_, outputs, steps, targets]. Sets
  // `count_`, which is 200 at most.
  std::vector<double> held_out_errors(int64_t origin);

  SavedModel saved_;
  int steps_;
  int64_t rows_, held_out_;  // rows from the latter on did not train
  Series series_;
  std::unique_ptr<SeriesWindows> windows_;
  std::unique_ptr<SeriesModel> model_;
  int64_t count_ = 0;
};

// The rows before a forecast, it, its interval, and what came, if that is known. One target.
Chart chart_of(const Forecaster& forecaster, const Forecast& forecast, int target);

}  // namespace timeseries
