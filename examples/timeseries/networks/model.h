// A network with its parameters and what is around it: windows as it reads them, its loss, and its forecasts in the units of
// the input.
#pragma once

#include <memory>
#include <vector>

#include "examples/timeseries/networks/network.h"
#include "examples/timeseries/series/series_windows.h"
#include "training/task.h"

namespace timeseries {

Columns columns_of(const SeriesWindows& windows);

class SeriesNetwork {
 public:
  // Throws InputError if normalization or shared weights need a target that is not among the inputs.
  SeriesNetwork(const NetworkPlan& plan, uint64_t seed);
  SeriesNetwork(const SeriesNetwork&) = delete;  // layers refer to the parameters
  SeriesNetwork& operator=(const SeriesNetwork&) = delete;

  // The loss of a batch, as the task has it, mean over its observed targets.
  WindowLoss loss(const SeriesBatch& batch) const;
  // Forecasts [outputs, horizon, batch, targets], scaled as the input; outputs: by quantile. A detector
  // gives probabilities [1, 1, batch, 1]. Nothing is recorded.
  Tensor predict(const Tensor& input) const;

  // A batch's input [rows, batch, columns], scaled, as the network reads it. All is in operations, so gradients go back
  // to the input. `target`: by channel the only one; -1: all.
  Window window(const Var& input, int target = -1) const;
  // By output [rows, horizon * width], scaled as the input. A detector gives logits.
  Vars outputs(const Window& window) const;
  // The encoder; nullptr: the network has no recurrent layers.
  const RecurrentLayer* recurrent() const { return network_->recurrent(); }
  const NetworkPlan& plan() const& { return plan_; }

  ParameterSet params;

 private:
  Tensor in_rows(const Tensor& target) const;

  NetworkPlan plan_;
  std::unique_ptr<Network> network_;
};

// InputError, naming the row, unless all that a model made of windows is finite; `origin` is that of the first of them.
void require_finite(const Tensor& found, const SeriesWindows& windows, int64_t origin);

}  // namespace timeseries
