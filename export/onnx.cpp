#include "export/onnx.h"

#include <map>

#include <fmt/format.h>

namespace unroll {

OnnxLayer::OnnxLayer(const Embedding& layer)
    : reads_ids(true),
      input(layer.config.vocab),
      output(layer.config.dim),
      add([&layer](const std::string&, const OnnxValue& ids) { return onnx(layer, ids); }) {}

OnnxLayer::OnnxLayer(const Dense& layer)
    : input(layer.config.in),
      output(layer.config.out),
      add([&layer](const std::string&, const OnnxValue& x) { return onnx(layer, x); }) {}

OnnxLayer::OnnxLayer(const LayerNorm& layer)
    : input(layer.config.dim),
      output(input),
      add([&layer](const std::string&, const OnnxValue& x) { return onnx(layer, x); }) {}

OnnxLayer::OnnxLayer(const RmsNorm& layer)
    : input(layer.config.dim),
      output(input),
      add([&layer](const std::string&, const OnnxValue& x) { return onnx(layer, x); }) {}

OnnxLayer::OnnxLayer(const MultiHeadAttention& layer, const AttentionCall& call)
    : input(layer.config.dim),
      output(input),
      add([&layer, call](const std::string&, const OnnxValue& x) { return onnx(layer, x, x, call); }) {}

OnnxLayer::OnnxLayer(const Transformer& layer)
    : input(layer.config().dim),
      output(input),
      state("transformer"),
      add([&layer](const std::string& name, const OnnxValue& x) { return onnx_with_state(name, layer, x); }) {
}

OnnxLayer::OnnxLayer(const RecurrentLayer& layer)
    : input(layer.config().input),
      output(layer.config().output()),
      state(layer.cell().name),
      add([layer](const std::string& name, const OnnxValue& x) { return onnx_with_state(name, layer, x); }) {}

void export_onnx(const std::filesystem::path& path, const std::vector<OnnxLayer>& layers) {
  require_input(!layers.empty(), "export_onnx: {}: there are no layers", path.string());
  OnnxGraph graph("model");
  OnnxValue x = layers[0].reads_ids ? graph.input("ids", {"steps", "batch"}, OnnxType::int64)
                                    : graph.input("x", {"steps", "batch", layers[0].input});
  std::map<std::string, int> count;
  for (size_t k = 0; k < layers.size(); ++k) {
    const OnnxLayer& layer = layers[k];
    if (k > 0)
      require_input(!layer.reads_ids && layer.input == layers[k - 1].output,
                    "export_onnx: {}: layer {} reads {} {}, and the one before it gives {} numbers",
                    path.string(), k + 1, layer.input, layer.reads_ids ? "words" : "numbers",
                    layers[k - 1].output);
    const int of_this_kind = ++count[layer.state];
    x = layer.add(of_this_kind > 1 ? fmt::format("{}_{}", layer.state, of_this_kind) : layer.state, x);
  }
  graph.output("y", x, {"steps", "batch", layers.back().output});
  graph.write(path);
}

}  // namespace unroll
