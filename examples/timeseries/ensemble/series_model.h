// The network of a recipe; or those of an ensemble, which are trained side by side: on the same batches, each by its own
// loss.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "examples/timeseries/networks/model.h"
#include "examples/timeseries/recipe/recipe.h"
#include "training/trainer.h"

namespace timeseries {

class SeriesModel {
 public:
  // Throws InputError if normalization or shared weights need a target that is not among the inputs.
  SeriesModel(const Recipe& recipe, const Columns& columns);

  // The mean of the losses of the networks that are not frozen is reported. In what is differentiated each network has
  // the same part, however many are frozen.
  WindowLoss loss(const SeriesBatch& batch) const;
  // The loss of one network, without a gradient.
  double loss_of(size_t network, const SeriesBatch& batch) const;
  // As SeriesNetwork::predict.
  Tensor predict(const Tensor& input, size_t network = 0) const {
    return networks_.at(network).predict(input);
  }
  size_t networks() const { return networks_.size(); }
  const SeriesNetwork& network() const& { return networks_.front(); }  // of a recipe with one
  std::vector<Parameter*> parameters_of(size_t network) const { return parameters_[network]; }

  // The encoder of the first network that has recurrent layers; nullptr: there are none.
  const RecurrentLayer* recurrent() const;
  ParameterSet params;

 private:
  std::deque<SeriesNetwork> networks_;               // deque: they are not moved
  std::vector<std::vector<Parameter*>> parameters_;  // by network
};

// "LSTM, 2 layers of 32 over segments of 24 rows", "weighted sums of the window", "an ensemble of NLinear, last"
std::string describe_layers(const Recipe& recipe);

// Multiplications and additions of a training step, forward and back: those of products, at every step of the window
// that recurrent layers take.
double operations_of_step(const Recipe& recipe, const Columns& columns, const ParameterSet& params);

}  // namespace timeseries
