// The models: recurrent layers over a window and a dense layer to the whole horizon, an encoder and a
// decoder, or weighted sums of the window (LTSF-Linear: Zeng, Chen, Zhang, Xu 2023).
//
// Inside, a forecast has rows: one for each window, or with shared weights one for each window and target. A
// row holds the values of the horizon, of `targets` channels side by side or of one: [rows, horizon * width].
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "examples/timeseries/recipe/recipe.h"
#include "examples/timeseries/series/series_windows.h"
#include "layers/recurrent/recurrent_layer.h"
#include "unroll.h"

namespace timeseries {

// The columns of a window's input: which of them the targets are, and how many at the end tell the time. Behind them stand the
// codes of categories, which a network reads through embeddings.
struct Columns {
  struct Category {
    int words = 0;
    bool is_known = false;  // of the rows to forecast, too
    // Numbers that a word becomes: half as many as there are words, at most 50.
    int width() const { return std::min((words + 1) / 2, 50); }
  };
  int inputs = 0, calendar = 0;
  std::vector<int> targets;     // their columns among the inputs; -1: it is not read
  std::vector<int> known = {};  // those of the inputs that are known of the rows to forecast, too
  std::vector<Category> categories = {};
  // How many numbers are read of each row of the window's categories; and of each row to forecast, of all columns.
  int embedded() const {
    int sum = 0;
    for (const Category& category : categories) sum += category.width();
    return sum;
  }
  int ahead() const {
    int sum = static_cast<int>(known.size());
    for (const Category& category : categories) sum += category.is_known ? category.width() : 0;
    return sum;
  }
  // Of these the ones that are no features of the calendar.
  std::vector<int> known_channels() const {
    std::vector<int> channels;
    std::ranges::copy_if(known, std::back_inserter(channels), [&](int c) { return c < inputs - calendar; });
    return channels;
  }
};
Columns columns_of(const SeriesWindows& windows);

// "LSTM, 2 layers of 32 over segments of 24 rows", "weighted sums of the window", "an ensemble of NLinear, last"
std::string describe_layers(const Recipe& recipe);

// Of a step of training, forward and back: its products, those of the recurrent layers at every step of the window.
double operations_of_step(const Recipe& recipe, const Columns& columns, const ParameterSet& params);

// One network, whose parameters a SeriesModel has.
class SeriesNetwork {
 public:
  // Its layers stand at place(name). Throws as SeriesModel.
  SeriesNetwork(const Recipe& recipe, const Columns& columns, const std::function<Scope(const char*)>& place);

  // As SeriesModel has them.
  Var loss(const SeriesBatch& batch) const;
  Tensor predict(const Tensor& input) const;
  const RecurrentLayer* recurrent() const;

  // How a forecast comes about: in operations throughout, so that gradients go back to the values of the window.
  struct Trace {
    Vars y;  // by output, scaled: [batch, horizon * targets]; of a detector the logit
    std::vector<CellTrace> cells = {};  // by layer: those of the encoder, and after its steps the decoder's
    std::span<const char* const> gates = {};  // their names
    Var read = {};                            // the window as its layers read it: [window, batch, features]
  };
  // input [window, batch, inputs], scaled. Where targets share weights it is that target's forecast, and alone in y.
  Trace trace(const Var& input, int target = 0) const;
  // The same of an input that collects no gradient; what a tape records begins with the last recurrent step that forecasts
  // `step`: before it, all is constant. y has no more than that step.
  Trace trace_of_step(const Tensor& input, int target, int step) const;
  // Where a target's forecast of a step stands among the columns of Trace::y.
  int column_of(int step, int target) const { return by_channel() ? step : step * width() + target; }
  int columns_of_output() const { return recipe_.horizon() * width(); }

  // Where a target stands among the columns of Trace::read, and among those of the input. One that is not read: the first.
  int read_column(int target) const { return by_channel() ? 0 : input_column(target); }
  int input_column(int target) const { return std::max(0, columns_.targets[static_cast<size_t>(target)]); }

 private:
  // A window as the layers read it, and what its normalization took off.
  struct Prepared {
    Var x;             // [window, rows, features]
    Var shift, scale;  // [rows, horizon * width]; undefined: nothing
    int target = -1;   // the only one that is in x; -1: all are
    Var ahead = {};    // [horizon * rows, ahead], what is known of the rows to forecast; undefined: nothing
  };
  static constexpr double least_deviation = 1e-5;  // of a window that is constant: it is not blown up

  // What is traced, and how far. With a step, all before the last recurrent step that forecasts it is not recorded.
  struct Tracing {
    Trace& trace;
    int step = -1;
  };
  Prepared prepare(const Tensor& input) const;
  Prepared prepare_window(const Tensor& input) const;
  // Of a network that reads categories (model_categories.cpp): its embeddings; an input [rows, batch, …] without the codes; and
  // what the codes of some of its rows stand for, [rows · batch · each, widths], each row `each` times.
  void make_categories(const std::function<Scope(const char*)>& place);
  Tensor without_codes(const Tensor& input) const;
  Var embedded(const Tensor& input, int first, int end, int each, bool known_alone) const;
  // What is known ahead, [horizon * rows, ahead].
  Var read_ahead(const Tensor& input) const;
  // Of a network that reads what is known ahead (model_ahead.cpp): its layers; what it reads [horizon * rows, ahead]; and what
  // that adds to the outputs, beside the state after the window [rows, width of the layers].
  void make_ahead(const std::function<Scope(const char*)>& place);
  Tensor ahead_of(const Tensor& input) const;
  void add_ahead(Vars& y, const Var& ahead, const Var& state) const;
  Prepared prepare_in_operations(const Var& input, int target) const;
  void normalize(Prepared& prepared) const;
  Tensor in_rows(const Tensor& target) const;  // [horizon, batch, targets] -> [rows, horizon * width]
  int64_t place(int step, int window, int target) const;
  // By quantile, [rows, horizon * width].
  Vars outputs(const Prepared& prepared, const Tracing* tracing = nullptr) const;
  Vars by_output(const Var& y) const;
  Var in_segments(const Var& x) const;
  RecurrentOutput encode(const Var& x, const Tracing* tracing) const;
  Vars encode_and_decode(const Prepared& prepared, const Tracing* tracing) const;
  // `target`: the one whose rows they are; -1: all in turn.
  Vars decode_segments(const RecurrentVars& state, int rows, int target) const;
  Var linear_path(const Var& x) const;     // as the head: [rows, outputs * horizon * width]
  Var moving_average(const Var& x) const;  // [rows, window]
  bool linear() const;
  bool by_channel() const;
  // Where a target stands among the features of a prepared window.
  int feature_of(int target) const {
    return by_channel() ? 0 : columns_.targets[static_cast<size_t>(target)];
  }
  int width() const { return by_channel() ? 1 : static_cast<int>(columns_.targets.size()); }

  const Recipe recipe_;
  const Columns columns_;
  std::optional<RecurrentLayer> encoder_, decoder_;
  std::optional<Dropout> dropout_;
  std::optional<Dense> head_, trend_head_;
  std::optional<Dense> ahead_, ahead_state_, ahead_head_;
  Vars categories_;  // by category: [words, width]
  std::optional<Highway> highway_;
  // Of a segment RNN: a segment's values to what the layers read; and what they read of the horizon's segments
  // [segments, hidden / 2] and of the targets [targets, hidden / 2].
  std::optional<Dense> segment_;
  Var position_, channel_;
};

// The network of a recipe; or those of an ensemble, which are trained side by side: on the same batches, each by its own loss.
class SeriesModel {
 public:
  // Throws InputError if normalization or shared weights need a target that is not among the inputs.
  SeriesModel(const Recipe& recipe, const Columns& columns);

  // The loss of a batch, as the recipe has it, mean over its observed targets: of the networks that are not frozen the mean, which
  // is reported, and what is differentiated, of which each network has the same part however many are frozen.
  WindowLoss loss(const SeriesBatch& batch) const;
  // Of one network, without a gradient.
  double loss_of(size_t network, const SeriesBatch& batch) const;
  // Forecasts of a network [outputs, horizon, batch, targets], scaled as the batch; outputs: by quantile. Of a detector
  // probabilities [1, 1, batch, 1]. Nothing is recorded.
  Tensor predict(const Tensor& input, size_t network = 0) const;
  size_t networks() const { return networks_.size(); }
  std::vector<Parameter*> parameters_of(size_t network) const { return parameters_[network]; }

  // Of the only network.
  using Trace = SeriesNetwork::Trace;
  Trace trace(const Var& input, int target = 0) const { return networks_.front().trace(input, target); }
  Trace trace_of_step(const Tensor& input, int target, int step) const {
    return networks_.front().trace_of_step(input, target, step);
  }
  int column_of(int step, int target) const { return networks_.front().column_of(step, target); }
  int columns_of_output() const { return networks_.front().columns_of_output(); }
  int read_column(int target) const { return networks_.front().read_column(target); }
  int input_column(int target) const { return networks_.front().input_column(target); }

  // The encoder of the first network that has recurrent layers; nullptr: there are none.
  const RecurrentLayer* recurrent() const;
  ParameterSet params;

 private:
  std::deque<SeriesNetwork> networks_;               // deque: they are not moved
  std::vector<std::vector<Parameter*>> parameters_;  // by network
};

// InputError, naming the row, unless all that a model made of windows is finite; `origin` is that of the first of them.
void require_finite(const Tensor& found, const SeriesWindows& windows, int64_t origin);

}  // namespace timeseries
