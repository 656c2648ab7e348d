// The models: recurrent layers over a window and a dense layer to the whole horizon, an encoder and a
// decoder, or weighted sums of the window (LTSF-Linear: Zeng, Chen, Zhang, Xu 2023).
//
// Inside, a forecast has rows: one for each window, or with shared weights one for each window and target. A
// row holds the values of the horizon, of `targets` channels side by side or of one: [rows, horizon * width].
#pragma once

#include <optional>
#include <vector>

#include "data/series/series_windows.h"
#include "unroll.h"
#include "layers/recurrent/recurrent_layer.h"
#include "recipe.h"
#include "training/files/algorithm_cache.h"

namespace timeseries {

// The columns of a window's input: which of them the targets are, and how many at the end tell the time.
struct Columns {
  int inputs = 0, calendar = 0;
  std::vector<int> targets;  // their columns among the inputs; -1: it is not read
};
Columns columns_of(const SeriesWindows& windows);

// A recipe's recurrent layers as training calls them: none, the encoder, or that and the decoder.
std::vector<LayerUse> recurrent_layers(const Recipe& recipe, const Columns& columns);

// Of a step of training, forward and back: its products, those of the recurrent layers at every step of the window.
double operations_of_step(const Recipe& recipe, const Columns& columns, const ParameterSet& params);

class SeriesModel {
 public:
  // Throws InputError if normalization or shared weights need a target that is not among the inputs.
  SeriesModel(const Recipe& recipe, const Columns& columns);

  // The loss of a batch, as the recipe has it, mean over its observed targets.
  Var loss(const SeriesBatch& batch) const;
  // Forecasts [outputs, horizon, batch, targets], scaled as the batch; outputs: by quantile. Of a detector
  // probabilities [1, 1, batch, 1]. Nothing is recorded.
  Tensor predict(const Tensor& input) const;

  // Of the recurrent layers; nullptr: there are none.
  const RecurrentLayer* recurrent() const;  // the encoder
  ParameterSet params;

 private:
  // A window as the layers read it, and what its normalization took off.
  struct Prepared {
    Tensor x;             // [window, rows, features]
    Tensor shift, scale;  // [rows, horizon * width]; undefined: nothing
  };
  Prepared prepare(const Tensor& input) const;
  void normalize(Prepared& prepared) const;
  Tensor in_rows(const Tensor& target) const;  // [horizon, batch, targets] -> [rows, horizon * width]
  int64_t place(int step, int window, int target) const;
  Vars outputs(const Prepared& prepared) const;  // by quantile, [rows, horizon * width]
  Vars by_output(const Var& y) const;
  Tensor in_segments(const Tensor& x) const;
  Vars encode_and_decode(const Tensor& x) const;
  Var linear_path(const Var& x) const;           // as the head: [rows, outputs * horizon * width]
  Tensor moving_average(const Tensor& x) const;  // [rows, window]
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
  std::optional<Highway> highway_;
};

// InputError, naming the row, unless all that a model made of windows is finite; `origin` is that of the first of them.
void require_finite(const Tensor& found, const SeriesWindows& windows, int64_t origin);

}  // namespace timeseries
