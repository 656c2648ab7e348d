// The network of a recipe, with its parameters.
#pragma once

#include <string>

#include "examples/timeseries/networks/model.h"
#include "examples/timeseries/recipe/recipe.h"

namespace timeseries {

struct SeriesModel : SeriesNetwork {
  SeriesModel(const Recipe& recipe, const Columns& columns);
};

// "LSTM, 2 layers of 32 over segments of 24 rows", "weighted sums of the window"
std::string describe_layers(const Recipe& recipe);

// Multiplications and additions of a training step, forward and back: those of products, at every step of the window
// that recurrent layers take.
double operations_of_step(const Recipe& recipe, const Columns& columns, const ParameterSet& params);

}  // namespace timeseries
