// The network of the pretrained forecaster: recurrent layers over segments of a series' rows, and on over segments of the rows to
// forecast, whose values they do not know.
//
//   context [n, batch, …] → Dense, gelu ─┐
//                                         ├→ recurrent layers → the last f steps ─┐
//   ahead   [f, batch, …] → Dense, gelu ─┘                                       ├→ Dense, gelu → Dense → quantiles
//                          └─────────────────────────────────────────────────────┘
#pragma once

#include <array>

#include "examples/timeseries/pretrained/window.h"
#include "layers/dense.h"
#include "layers/recurrent/recurrent_layer.h"

namespace timeseries {

using namespace unroll;

// Ascending; the fourth and the eighth bound the middle 80 per cent of nine equal steps, the outermost 95 per cent.
inline constexpr std::array<double, 11> forecast_levels = {0.025, 0.1, 0.2, 0.3, 0.4,  0.5,
                                                           0.6,   0.7, 0.8, 0.9, 0.975};
inline constexpr int forecast_quantiles = static_cast<int>(forecast_levels.size());
inline constexpr int median_level = forecast_quantiles / 2;

struct PretrainedNetwork {
  PretrainedNetwork(CellKind cell, const RecurrentConfig& layers, uint64_t seed = 1);

  // The quantiles of each level in units of the series' scale: [ahead_segments, batch, segment_rows] each. The median is the base
  // and a change; others lie above or below their neighbour by a softplus, so none cross.
  Vars operator()(const ForecastBatch& batch) const;

  ParameterSet params;
  Dense context, ahead;
  RecurrentLayer layers;
  Dense hidden, out, direct;  // direct: from the inputs ahead to the output, without a bend
};

}  // namespace timeseries
