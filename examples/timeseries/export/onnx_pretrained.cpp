#include "examples/timeseries/export/onnx_pretrained.h"

#include <fmt/ranges.h>

#include "export/onnx.h"

namespace timeseries {

void write_onnx(const std::filesystem::path& path, const PretrainedNetwork& network) {
  OnnxGraph graph("forecaster");
  const OnnxValue context = graph.input("context", {"segments", "batch", context_width}),
                  ahead = graph.input("ahead", {"segments_ahead", "batch", ahead_width}),
                  base = graph.input("base", {"segments_ahead", "batch", segment_rows});
  const OnnxValue known = unary(Unary::gelu, onnx(network.context, context)),
                  places = unary(Unary::gelu, onnx(network.ahead, ahead));
  const OnnxValue y = onnx(network.layers, concat({known, places}, 0)).y;
  const OnnxValue of_ahead =
      graph.op("Slice", {y, extent(context, 0), graph.numbers({to_the_end}), graph.numbers({0})});
  const OnnxValue read = unary(Unary::gelu, onnx(network.hidden, concat({of_ahead, places}, 2)));
  const OnnxValues parts =
      chunk(onnx(network.out, read) + onnx(network.direct, ahead), forecast_quantiles, 2);
  OnnxValues quantiles(forecast_levels.size());
  quantiles[median_level] = parts[median_level] + base;
  for (size_t k = median_level; k-- > 0;) {
    const size_t above = 2 * median_level - k;
    quantiles[above] = quantiles[above - 1] + unary(Unary::softplus, parts[above]);
    quantiles[k] = quantiles[k + 1] - unary(Unary::softplus, parts[k]);
  }
  for (OnnxValue& quantile : quantiles) quantile = unsqueeze(quantile, 0);
  graph.output("quantiles", concat(quantiles, 0),
               {forecast_quantiles, "segments_ahead", "batch", segment_rows});
  graph.note("levels", fmt::format("[{}]", fmt::join(forecast_levels, ", ")));
  graph.write(path);
}

}  // namespace timeseries
