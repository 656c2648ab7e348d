// The network of a recipe, with its parameters.
#pragma once

#include <string>

#include "examples/timeseries/networks/model.h"
#include "examples/timeseries/recipe/recipe.h"
#include "training/trainer.h"

namespace timeseries {

class SeriesModel {
 public:
  // Throws InputError if normalization or shared weights need a target that is not among the inputs.
  SeriesModel(const Recipe& recipe, const Columns& columns);
  SeriesModel(const SeriesModel&) = delete;  // the network refers to the parameters
  SeriesModel& operator=(const SeriesModel&) = delete;

  WindowLoss loss(const SeriesBatch& batch) const;
  // Without a gradient.
  double loss_of(const SeriesBatch& batch) const;
  // As SeriesNetwork::predict.
  Tensor predict(const Tensor& input) const { return network_.predict(input); }
  const SeriesNetwork& network() const& { return network_; }
  // The encoder; nullptr: the network has no recurrent layers.
  const RecurrentLayer* recurrent() const { return network_.recurrent(); }

  ParameterSet params;

 private:
  SeriesNetwork network_;
};

// "LSTM, 2 layers of 32 over segments of 24 rows", "weighted sums of the window"
std::string describe_layers(const Recipe& recipe);

// Multiplications and additions of a training step, forward and back: those of products, at every step of the window
// that recurrent layers take.
double operations_of_step(const Recipe& recipe, const Columns& columns, const ParameterSet& params);

}  // namespace timeseries
