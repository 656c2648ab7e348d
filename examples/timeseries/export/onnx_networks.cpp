#include "examples/timeseries/export/onnx_networks.h"

#include <algorithm>

namespace timeseries {

namespace {

// A network's plan and weights.
struct Parts {
  const NetworkPlan& plan;
  const ParameterSet& params;

  int horizon() const { return plan.task.horizon; }
  int all_outputs() const { return plan.outputs() * horizon(); }  // numbers in a row
  OnnxValue dense(const std::string& name, const OnnxValue& x) const {
    Parameter* bias = params.find(name + ".bias");
    return onnx_linear(x, params.at(name + ".weight").var(), bias ? bias->var() : Var());
  }
  OnnxOutput recurrent(const std::string& name, int input, const OnnxValue& x,
                       const OnnxState& state = {}) const {
    Vars weights;
    for (Parameter* parameter : params.under(name)) weights.push_back(parameter->var());
    return onnx_recurrent(facts_of(plan.keys.cell), plan.keys.layers_of(input), weights, x, state);
  }
  std::string encoder() const { return facts_of(plan.keys.cell).name; }
};

OnnxValue in_segments(const Parts& parts, const OnnxValue& x) {
  const int segment = parts.plan.keys.segment, features = parts.plan.features(),
            steps = parts.plan.task.window / segment;
  if (segment == 1) return x;
  return reshape(permute(reshape(x, {steps, segment, -1, features}), {0, 2, 1, 3}),
                 {steps, -1, segment * features});
}

// The last `length` rows of a channel: [rows, length].
OnnxValue last_values(const OnnxValue& x, int channel, int length) {
  return permute(reshape(slice(slice(x, 0, -length, to_the_end), 2, channel, channel + 1), {length, -1}),
                 {1, 0});
}

// Adds to y what is known of the rows to forecast; with recurrent layers beside their last state.
OnnxValue with_ahead(const Parts& parts, const OnnxValue& y, const OnnxWindow& window,
                     const OnnxValue& state = {}) {
  if (!window.ahead.graph) return y;
  OnnxValue read = parts.dense("ahead", window.ahead);  // [horizon, rows, …]
  if (state.graph) read = parts.dense("ahead_head", relu(read + parts.dense("ahead_state", state)));
  const auto apart = reshape(read, {parts.horizon(), -1, parts.plan.task.outputs(), parts.plan.width()});
  return y + reshape(permute(apart, {1, 2, 0, 3}), {-1, parts.all_outputs()});
}

// As Direct::linear_path.
OnnxValue highway(const Parts& parts, const OnnxValue& x) {
  const NetworkPlan& plan = parts.plan;
  const int length = plan.keys.highway;
  OnnxValues values;
  if (plan.task.detects) {
    for (int c = 0; c < plan.columns.inputs; ++c) values.push_back(last_values(x, c, length));
    return parts.dense("highway", concat(values, 1));
  }
  for (int k = 0; k < plan.width(); ++k)
    values.push_back(unsqueeze(parts.dense("highway", last_values(x, plan.feature_of(k), length)), 2));
  return reshape(concat(values, 2), {0, parts.all_outputs()});
}

OnnxValue direct(const Parts& parts, const OnnxWindow& window) {
  const NetworkPlan& plan = parts.plan;
  const OnnxValue steps =
      parts.recurrent(parts.encoder(), plan.keys.segment * plan.features(), in_segments(parts, window.x)).y;
  const OnnxValue state = row(steps, -1), y = parts.dense("head", state);
  return with_ahead(parts, plan.keys.highway > 0 ? y + highway(parts, window.x) : y, window, state);
}

OnnxValue segment_rnn(const Parts& parts, const OnnxWindow& window) {
  const NetworkPlan& plan = parts.plan;
  OnnxGraph& graph = *window.x.graph;
  const int segments = parts.horizon() / plan.keys.segment, targets = plan.targets(),
            hidden = plan.keys.hidden;
  const OnnxValue x = relu(parts.dense("segment", in_segments(parts, window.x)));
  const OnnxState state = parts.recurrent(parts.encoder(), hidden, x).state;
  const auto repeated = [&](const OnnxValue& of_layers) {
    return of_layers.graph ? graph.op("Tile", {of_layers, graph.numbers({1, segments, 1})}) : OnnxValue();
  };
  // Each segment of the horizon in each row, whose targets take turns: [segments, batch, targets, hidden / 2].
  const OnnxValue all =
      concat({graph.numbers({segments}), window.batch, graph.numbers({targets, hidden / 2})}, 0);
  const auto table = [&](const char* name, const std::vector<int64_t>& shape) {
    return graph.op(
        "Expand", {reshape(graph.weight(parts.params.at(name + std::string(".weight")).var()), shape), all});
  };
  const OnnxValue read = concat(
      {table("position", {segments, 1, 1, hidden / 2}), table("channel", {1, 1, targets, hidden / 2})}, 3);
  const OnnxValue h = parts
                          .recurrent(parts.encoder(), hidden, reshape(read, {1, -1, hidden}),
                                     {repeated(state.h), repeated(state.c)})
                          .y;
  const OnnxValue y =
      reshape(parts.dense("head", row(h, 0)), {segments, -1, plan.task.outputs(), plan.keys.segment});
  return reshape(permute(y, {1, 2, 0, 3}), {-1, parts.all_outputs()});
}

OnnxValue linear(const Parts& parts, const OnnxWindow& window) {
  return with_ahead(parts, parts.dense("linear", last_values(window.x, 0, parts.plan.task.window)), window);
}

struct OnnxNetwork {
  std::string_view word;  // of series_networks
  OnnxValue (*add)(const Parts& parts, const OnnxWindow& window);
};
constexpr OnnxNetwork onnx_networks[] = {
    {"direct", direct}, {"segment-rnn", segment_rnn}, {"linear", linear}};

}  // namespace

OnnxValue onnx_network(const NetworkPlan& plan, const ParameterSet& params, const OnnxWindow& window) {
  const auto found = std::ranges::find(onnx_networks, plan.keys.architecture->word, &OnnxNetwork::word);
  require_input(found != std::end(onnx_networks), "onnx: model.architecture = \"{}\" has no form here",
                plan.keys.architecture->word);
  return found->add({plan, params}, window);
}

}  // namespace timeseries
