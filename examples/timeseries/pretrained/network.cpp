#include "examples/timeseries/pretrained/network.h"

#include "framework/ops.h"

namespace timeseries {

static RecurrentConfig reading(RecurrentConfig layers) {
  layers.input = layers.hidden;
  return layers;
}

PretrainedNetwork::PretrainedNetwork(CellKind cell, const RecurrentConfig& config, uint64_t seed)
    : params(seed),
      context(params / "context", {.in = context_width, .out = config.hidden}),
      ahead(params / "ahead", {.in = ahead_width, .out = config.hidden}),
      layers(params / facts_of(cell).name, cell, reading(config)),
      hidden(params / "hidden", {.in = config.output() + config.hidden, .out = config.hidden}),
      out(params / "out", {.in = config.hidden, .out = forecast_quantiles * segment_rows}),
      direct(params / "direct",
             {.in = ahead_width, .out = forecast_quantiles * segment_rows, .bias = false}) {}

Vars PretrainedNetwork::operator()(const ForecastBatch& batch) const {
  const int steps = batch.ahead_segments, rows = batch.batch;
  const auto tensor = [&](const std::vector<real>& numbers, int segments, int width) {
    return Tensor::from(Shape{segments, rows, width}, std::span(numbers));
  };
  const Var inputs_ahead = tensor(batch.ahead, steps, ahead_width);
  const Var known = gelu(context(tensor(batch.context, batch.context_segments, context_width)));
  const Var places = gelu(ahead(inputs_ahead));
  const Var y = layers(concat({known, places}, 0), layers.zero_state(rows)).y;
  const Var read = concat({slice(y, 0, batch.context_segments), places}, 2);
  const Var numbers = out(gelu(hidden(read))) + direct(inputs_ahead);
  const auto part = [&](int k) { return slice(numbers, 2, k * segment_rows, (k + 1) * segment_rows); };
  Vars quantiles(forecast_levels.size());
  quantiles[median_level] = part(median_level) + tensor(batch.base, steps, segment_rows);
  for (int k = 1; k <= median_level; ++k) {
    const auto above = static_cast<size_t>(median_level + k), below = static_cast<size_t>(median_level - k);
    quantiles[above] = quantiles[above - 1] + softplus(part(median_level + k));
    quantiles[below] = quantiles[below + 1] - softplus(part(median_level - k));
  }
  return quantiles;
}

}  // namespace timeseries
