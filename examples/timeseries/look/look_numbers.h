// The numbers of `timeseries look`: a model's values while it reads one window, and what its forecast depends on.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "examples/timeseries/data/series_data.h"
#include "examples/timeseries/model/saved_model.h"
#include "training/program/look/look_values.h"

namespace timeseries {

// The row of a time among the rows [begin, end). Throws InputError: it is the time of none of them.
int64_t row_at(const Series& series, const std::string& at, int64_t begin, int64_t end);

// A window of a series, and the model that reads it. Requires: the saved model outlives it.
class LookedWindow {
 public:
  // `at`: the time of the first forecast row, or of the row that a detector labels; empty: the last one whose truth
  // is known. `target`: the channel whose forecast to look at; empty: the first. Throws InputError: no such row or
  // target, a window that does not fit, more steps than a page has, or a model that reads rows that it forecasts.
  LookedWindow(const SavedModel& saved, const std::filesystem::path& csv, const std::string& at,
               const std::string& target);
  LookedWindow(const LookedWindow&) = delete;  // windows refer to the series
  LookedWindow& operator=(const LookedWindow&) = delete;

  static constexpr int most_steps = 1000;

  const Recipe& recipe() const { return saved_.recipe; }
  const Scaling& scaling() const { return saved_.facts.scaling; }
  const Series& series() const { return series_; }
  SeriesModel& model() const { return *model_; }
  const SeriesWindows& windows() const { return *windows_; }
  const std::vector<int>& inputs() const { return windows_->options().inputs; }
  int channel() const { return windows_->options().targets[target_]; }
  int target() const { return target_; }  // index among the model's targets
  bool detects() const { return recipe().detects(); }
  int window() const { return recipe().data.window; }
  int horizon() const { return recipe().horizon(); }
  int steps() const { return window() / recipe().model.segment; }  // of the layers that read the window
  int64_t first_read() const { return first_read(origin_); }       // row of the window
  int64_t origin() const { return origin_; }                       // first row forecast
  bool is_known(int64_t row, int channel) const;                   // whether the file has a value there
  std::string target_name() const { return series_.channels[channel()]; }

  // [window, 1, inputs], scaled: this window, or any window of the file's rows.
  Tensor input() const { return windows_->input_before(origin_); }
  Tensor input(int64_t origin) const { return windows_->input_before(origin); }
  int64_t first_read(int64_t origin) const { return origin - lead() - window() + 1; }
  // Possible origins: the first, and one past the last whose input the file has.
  int64_t first_origin() const { return window() + lead() - 1; }
  int64_t end_of_origins() const { return rows_ + lead(); }
  // The forecast [outputs][horizon] in the file's unit; for a detector a probability.
  std::vector<std::vector<double>> forecast() const;
  std::unique_ptr<SeriesModel> untrained() const;

 private:
  int lead() const { return detects() ? 0 : 1; }
  int64_t row_of(const std::string& at) const;

  const SavedModel& saved_;
  Series series_;
  int64_t rows_ = 0;  // rows of the file
  bool labelled_ = true;
  int target_ = 0;
  int64_t origin_ = 0;
  std::unique_ptr<SeriesWindows> windows_;
  std::unique_ptr<SeriesModel> model_;
};

// How a network's forecast comes about, with gradients back to the values of the window.
struct Trace {
  Vars y;  // by output, scaled: [batch, horizon * targets], or of `target` alone if it is a row of its own
  std::vector<CellTrace> cells = {};        // by layer
  std::span<const char* const> gates = {};  // their names
  Var read = {};                            // the window as its layers read it: [window, batch, features]
};
// input [window, batch, inputs], scaled.
Trace trace(const SeriesNetwork& network, const Var& input, int target);
// By output the forecast of a step [batch, 1], of an input that collects no gradient. The recording begins with the last
// recurrent step that the forecast takes: before it, all is constant.
Vars trace_of_step(const SeriesNetwork& network, const Tensor& input, int target, int step);

struct LookedSeries {
  std::vector<int> shown;  // steps of the horizon that the panels offer
  std::span<const char* const> gate_names;
  std::vector<LayerValues> layers;  // over the steps that read the window
  OutputReach reach, untrained;     // by step shown
  std::vector<TapeGraph> tapes;
  std::vector<OfferedUnit> offered;
};
// Throws InputError if a value of the model is not finite.
LookedSeries look_inside(const LookedWindow& window);

// The units that best follow, or predict, properties of the rows just read, over windows of the whole file.
std::vector<OfferedUnit> offer_units(const LookedWindow& window);

// The JSON that the page reads. `title` is the page's name for the model, `path` its file.
std::string look_json(const LookedWindow& window, const LookedSeries& look, const std::string& title,
                      const std::string& path);

// --- without a model: the network that ships with the program -----------------------------------------------

// One forecast of the network: of `steps` rows of a channel from `origin` on, by the rows of its series before.
struct LookedForecast {
  const Series& series;  // with times of all rows to forecast
  int64_t rows;          // end of the rows that the file has of this series; the origin is not beyond it
  int channel;
  int64_t origin, steps, season;
  std::vector<double> bounds;  // data.bounds
};

// The JSON that the page reads, as look_json has it for a trained model. A row's gradient is the central difference of the
// median over a fiftieth of the series' scale. So it includes the effect on level, season and scale, which are measured on the
// same rows. `path`: the file. Throws InputError: more than 64 steps, fewer than 3 values, or values that are all alike.
std::string look_json(const LookedForecast& looked, const std::string& title, const std::string& path);

}  // namespace timeseries
