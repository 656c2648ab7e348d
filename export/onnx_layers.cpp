#include <climits>
#include <cmath>

#include "export/onnx.h"

namespace unroll {

OnnxValue onnx_linear(const OnnxValue& x, const Var& weight, const Var& bias) {
  const OnnxValue y = matmul(x, x.graph->transposed(weight));
  return has(bias) ? y + x.graph->weight(bias) : y;
}

OnnxValue onnx(const Dense& layer, const OnnxValue& x) {
  const OnnxValue y = onnx_linear(x, layer.weight, layer.bias);
  switch (layer.config.activation) {
    case Activation::none:
      return y;
    case Activation::relu:
      return relu(y);
    case Activation::tanh:
      return tanh(y);
    case Activation::sigmoid:
      return sigmoid(y);
  }
  throw Error("onnx: a dense layer's function without a name");
}

OnnxValue onnx(const LayerNorm& layer, const OnnxValue& x) {
  OnnxGraph& graph = *x.graph;
  return graph.op("LayerNormalization", {x, graph.weight(layer.weight), graph.weight(layer.bias)},
                  {{"axis", int64_t{-1}}, {"epsilon", layer.config.eps}});
}

OnnxValue onnx(const RmsNorm& layer, const OnnxValue& x) {
  OnnxGraph& graph = *x.graph;
  const OnnxValue mean = graph.op("ReduceMean", {x * x}, {{"axes", std::vector<int64_t>{-1}}});
  return x / unary(Unary::sqrt, mean + graph.number(double{layer.config.eps})) * graph.weight(layer.weight);
}

OnnxValue onnx(const Embedding& layer, const OnnxValue& ids) {
  return rows(ids.graph->weight(layer.weight), ids);
}

OnnxValue onnx_log_probabilities(const MixtureSoftmax& mixture, const Dense& decoder, const OnnxValue& y) {
  const MixtureSoftmaxConfig& config = mixture.config;
  const OnnxValue vectors = reshape(onnx(mixture.latent, y), {0, 0, config.components, config.width});
  const OnnxValue joint =
      unsqueeze(log_softmax(onnx(mixture.prior, y)), -1) + log_softmax(onnx(decoder, vectors));
  return y.graph->op("ReduceLogSumExp", {joint},
                     {{"axes", std::vector<int64_t>{-2}}, {"keepdims", int64_t{0}}});
}

// --- attention -------------------------------------------------------------------------------------------

namespace {

// Added to scores: the biases of each head, and -1e30 where a query does not see a key. [heads or 1, steps, past]. The last query
// is at the last key's place.
OnnxValue causal_scores(const OnnxValue& steps, const OnnxValue& past, int heads, const AttentionCall& call) {
  OnnxGraph& graph = *steps.graph;
  const OnnxValue none = graph.number(0, OnnxType::int64), one = graph.number(1, OnnxType::int64);
  const auto places = [&](const OnnxValue& size) { return graph.op("Range", {none, row(size, 0), one}); };
  const OnnxValue distance =
      unsqueeze(places(steps) + (past - steps), 1) - unsqueeze(places(past), 0);  // [steps, past]
  OnnxValue seen = graph.op("GreaterOrEqual", {distance, none});
  if (call.window > 0)
    seen = graph.op("And",
                    {seen, graph.op("LessOrEqual", {distance, graph.number(call.window, OnnxType::int64)})});
  OnnxValue bias = graph.number(0);
  if (call.linear_biases) {
    std::vector<float> slopes;
    for (int h = 1; h <= heads; ++h)
      slopes.push_back(std::exp2(-8.0f * static_cast<float>(h) / static_cast<float>(heads)));
    bias = graph.number(0) - graph.arranged("slopes_" + std::to_string(heads), {heads, 1, 1}, slopes) *
                                 cast(distance, OnnxType::real32);
  }
  return graph.op("Where", {seen, bias, graph.number(-1e30)});
}

// queries [steps, batch, dim], keys and values [past, batch, dim], scores to add -> [steps, batch, dim]
OnnxValue attend(const MultiHeadAttention& layer, const OnnxValue& queries, const OnnxValue& keys,
                 const OnnxValue& values, const OnnxValue& added) {
  const int heads = layer.config.heads, width = layer.config.dim / heads;
  const auto by_head = [&](const OnnxValue& x, const std::vector<int64_t>& order) {
    return permute(reshape(x, {0, 0, heads, width}), order);
  };
  OnnxValue scores = matmul((1 / std::sqrt(static_cast<double>(width))) * by_head(queries, {1, 2, 0, 3}),
                            by_head(keys, {1, 2, 3, 0}));  // [batch, heads, steps, past]
  if (added.graph) scores = scores + added;
  const OnnxValue y = matmul(softmax(scores), by_head(values, {1, 2, 0, 3}));
  return onnx(layer.out, reshape(permute(y, {2, 0, 1, 3}), {0, 0, layer.config.dim}));
}

// Queries, keys, values of one input.
OnnxValues projected(const MultiHeadAttention& layer, const OnnxValue& x) {
  return chunk(onnx_linear(x, layer.in_weight, layer.in_bias), 3, -1);
}

}  // namespace

OnnxValue onnx(const MultiHeadAttention& layer, const OnnxValue& queries, const OnnxValue& memory,
               const AttentionCall& call) {
  require_input(!call.lengths.steps.defined() && !call.firsts.defined(),
                "onnx: attention with lengths of rows, or with first keys, has no form here");
  OnnxGraph& graph = *queries.graph;
  OnnxValues parts;
  if (has(layer.in_weight)) {
    parts = projected(layer, queries);
    if (memory.name != queries.name) {
      const OnnxValues of_memory = projected(layer, memory);
      parts = {parts[0], of_memory[1], of_memory[2]};
    }
  } else {
    const OnnxValues biases =
        has(layer.in_bias) ? chunk(graph.weight(layer.in_bias), 3, 0) : OnnxValues(3, OnnxValue());
    const auto part = [&](const OnnxValue& x, const Var& weight, const OnnxValue& bias) {
      const OnnxValue y = onnx_linear(x, weight);
      return bias.graph ? y + bias : y;
    };
    parts = {part(queries, layer.query_weight, biases[0]), part(memory, layer.key_weight, biases[1]),
             part(memory, layer.value_weight, biases[2])};
  }
  OnnxValue added;
  if (call.causal) added = causal_scores(extent(queries, 0), extent(memory, 0), layer.config.heads, call);
  return attend(layer, parts[0], parts[1], parts[2], added);
}

OnnxOutput onnx(const Transformer& layer, const OnnxValue& x, const OnnxState& state) {
  OnnxGraph& graph = *x.graph;
  const TransformerConfig& config = layer.config();
  const OnnxValue steps = extent(x, 0), memory = graph.numbers({config.memory}), past = steps + memory;
  // A row sees places from memory - count on: [batch, 1, 1, past].
  const OnnxValue first = graph.number(config.memory) - reshape(state.c, {-1, 1, 1, 1});
  const OnnxValue places = cast(
      graph.op("Range", {graph.number(0, OnnxType::int64), row(past, 0), graph.number(1, OnnxType::int64)}),
      OnnxType::real32);
  const OnnxValue is_real = graph.op("GreaterOrEqual", {places, first});
  const OnnxValue causal =
      causal_scores(steps, past, config.heads, {.window = config.memory, .linear_biases = true});
  const OnnxValue added = graph.op("Where", {is_real, causal, graph.number(-1e30)});
  OnnxValue y = x;
  OnnxValues next;
  for (size_t k = 0; k < layer.layers().size(); ++k) {
    const Transformer::Layer& one = layer.layers()[k];
    const int64_t at = 2 * static_cast<int64_t>(k) * config.memory;
    const OnnxValues parts = projected(one.self_attn, onnx(one.norm1, y));
    const auto with_past = [&](int64_t begin, const OnnxValue& now) {
      return concat({slice(state.h, 0, begin, begin + config.memory), now}, 0);
    };
    const OnnxValue keys = with_past(at, parts[1]), values = with_past(at + config.memory, parts[2]);
    for (const OnnxValue& all : {keys, values}) next.push_back(slice(all, 0, -config.memory, to_the_end));
    y = y + attend(one.self_attn, parts[0], keys, values, added);
    y = y + onnx(one.linear2, unary(Unary::gelu, onnx(one.linear1, onnx(one.norm2, y))));
  }
  const OnnxValue count =
      graph.op("Min", {state.c + cast(steps, OnnxType::real32), graph.number(config.memory)});
  return {layer.norm() ? onnx(*layer.norm(), y) : y, {concat(next, 0), count}};
}

OnnxValue onnx_with_state(const std::string& name, const Transformer& layer, const OnnxValue& x) {
  OnnxGraph& graph = *x.graph;
  const TransformerConfig& config = layer.config();
  const OnnxGraph::Dims of_h{2 * config.layers * config.memory, "batch", config.dim}, of_c{1, "batch", 1};
  const OnnxOutput out = onnx(layer, x, {graph.input(name + ".h", of_h), graph.input(name + ".c", of_c)});
  graph.output(name + ".h_next", out.state.h, of_h);
  graph.output(name + ".c_next", out.state.c, of_c);
  return out.y;
}

}  // namespace unroll
