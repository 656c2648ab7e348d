#include "examples/timeseries/export/onnx_series.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "examples/timeseries/export/blank_model.h"
#include "examples/timeseries/export/onnx_networks.h"
#include "training/files/json/json.h"

namespace timeseries {

namespace {

// Channels between a file's units and the network's.
struct OnnxScaling {
  const SavedModel& saved;
  OnnxValue series;  // [batch], the place of each row's; of no graph: there is one

  // A number of each of some channels: [channels], or with several series by row [batch, channels].
  OnnxValue of(OnnxGraph& graph, double ChannelScaling::*number, const std::vector<int>& channels) const {
    std::vector<double> chosen;
    const int members = saved.facts.scaling.members;
    for (int member = 0; member < members; ++member)
      for (const int channel : channels)
        chosen.push_back(saved.facts.scaling.at(saved.facts.scaling.place(channel, member)).*number);
    const OnnxValue all = graph.reals(chosen);
    return series.graph ? rows(reshape(all, {members, std::ssize(channels)}), series) : all;
  }
  bool transforms(const std::vector<int>& channels) const {
    return std::ranges::any_of(channels, [&](int c) { return saved.facts.scaling.at(c).is_log; });
  }
  // Calls f(channel, its values) for each: one whose logarithm is scaled by itself.
  template <class F>
  OnnxValue each(const OnnxValue& x, int axis, const std::vector<int>& channels, F f) const {
    OnnxValues parts;
    for (int k = 0; k < static_cast<int>(channels.size()); ++k)
      parts.push_back(f(channels[static_cast<size_t>(k)], slice(x, axis, k, k + 1)));
    return concat(parts, axis);
  }
  // x [rows, batch, channels]
  OnnxValue apply(const OnnxValue& x, const std::vector<int>& channels) const {
    if (!transforms(channels))
      return (x - of(*x.graph, &ChannelScaling::shift, channels)) /
             of(*x.graph, &ChannelScaling::scale, channels);
    return each(x, 2, channels, [&](int channel, const OnnxValue& value) {
      const auto number = [&](double v) { return x.graph->number(v, OnnxType::real64); };
      const ChannelScaling& s = saved.facts.scaling.at(channel);
      return ((s.is_log ? unary(Unary::log, value) : value) - number(s.used_shift())) /
             number(s.used_scale());
    });
  }
  // y [outputs, horizon, batch, channels]
  OnnxValue undo(const OnnxValue& y, const std::vector<int>& channels) const {
    if (!transforms(channels))
      return y * of(*y.graph, &ChannelScaling::scale, channels) +
             of(*y.graph, &ChannelScaling::shift, channels);
    return each(y, 3, channels, [&](int channel, const OnnxValue& value) {
      const auto number = [&](double v) { return y.graph->number(v, OnnxType::real64); };
      const ChannelScaling& s = saved.facts.scaling.at(channel);
      const OnnxValue scaled = value * number(s.used_scale()) + number(s.used_shift());
      return s.is_log ? unary(Unary::exp, scaled) : scaled;
    });
  }
};

// As SeriesNetwork in networks/model.cpp.
struct OnnxSeries {
  const NetworkPlan& plan;
  const ParameterSet& params;
  OnnxValue level = {}, deviation = {};

  int each() const { return plan.by_channel() ? plan.targets() : 1; }

  OnnxValue chosen(const OnnxValue& x, const std::vector<int>& columns) const {
    return x.graph->op("Gather", {x, x.graph->numbers({columns.begin(), columns.end()})},
                       {{"axis", int64_t{-1}}});
  }
  // [steps, batch, n] -> [steps, batch * each, n]
  OnnxValue repeated(const OnnxValue& x, int64_t n) const {
    if (each() == 1) return x;
    return reshape(x.graph->op("Tile", {unsqueeze(x, 2), x.graph->numbers({1, 1, each(), 1})}), {0, -1, n});
  }
  OnnxValue normalized(const OnnxValue& input) {
    const auto& [keys, task, columns, place] = plan;
    OnnxGraph& graph = *input.graph;
    const bool by_last = keys.normalization == Normalization::last,
               by_mean = keys.normalization == Normalization::window;
    const int values = by_mean || (by_last && keys.architecture->is_recurrent())
                           ? columns.inputs - columns.calendar
                           : columns.inputs;
    OnnxValue x = values < columns.inputs ? slice(input, 2, 0, values) : input;
    if (by_last) {
      level = row(x, task.window - 1), x = x - level;
    } else if (by_mean) {  // in 64 bits, as there
      const OnnxValue exact = cast(x, OnnxType::real64), first = slice(exact, 0, 0, task.window);
      const auto mean = [&](const OnnxValue& of) {
        return graph.op("ReduceMean", {of}, {{"axes", std::vector<int64_t>{0}}, {"keepdims", int64_t{0}}});
      };
      const OnnxValue m = mean(first), distance = first - m;
      const OnnxValue s =
          unary(Unary::sqrt, mean(distance * distance) + graph.number(1e-5, OnnxType::real64));
      x = cast((exact - m) / s, OnnxType::real32);
      level = cast(m, OnnxType::real32), deviation = cast(s, OnnxType::real32);
    }
    return values < columns.inputs ? concat({x, slice(input, 2, values, columns.inputs)}, 2) : x;
  }
  OnnxValue ahead(const OnnxValue& x) const {
    const auto& [keys, task, columns, place] = plan;
    const OnnxValue known = chosen(slice(x, 0, task.window, task.window + task.horizon), columns.known);
    return repeated(known, std::ssize(columns.known));
  }
  // input [rows, batch, inputs], scaled -> [rows, outputs * horizon * width]
  OnnxValue outputs(const OnnxValue& input) {
    const auto& [keys, task, columns, place] = plan;
    const OnnxValue x = normalized(input);
    const OnnxValue read = columns.ahead() > 0 ? slice(x, 0, 0, task.window) : x;
    OnnxWindow window{.x = read, .ahead = {}, .batch = extent(input, 1)};
    if (plan.by_channel()) window.x = reshape(chosen(read, columns.targets), {task.window, -1, 1});
    const bool recurrent = keys.architecture->is_recurrent();
    if (const auto beside = columns.beside_target(); plan.by_channel() && recurrent && !beside.empty())
      window.x = concat({window.x, repeated(chosen(read, beside), std::ssize(beside))}, 2);
    if (columns.ahead() > 0) window.ahead = ahead(x);
    const OnnxValue y = onnx_network(plan, params, window);
    if (!level.graph || task.detects) return y;
    const auto of_targets = [&](const OnnxValue& all) {
      return reshape(chosen(all, columns.targets), {-1, 1, plan.width()});
    };
    OnnxValue steps = reshape(y, {0, -1, plan.width()});
    if (deviation.graph) steps = steps * of_targets(deviation);
    return reshape(steps + of_targets(level), {0, task.horizon * plan.outputs()});
  }
};

OnnxValue in_order(const OnnxValue& y, int outputs) {  // quantiles that cross
  if (outputs == 1) return y;
  return y.graph->ops("TopK", {y, y.graph->numbers({outputs})}, 2,
                      {{"axis", int64_t{0}}, {"largest", int64_t{0}}})[0];
}

OnnxValue bounded(const OnnxValue& y, const BlankModel& blank) {  // y [outputs, horizon, batch, targets]
  if (blank.bounds_text().empty()) return y;
  std::vector<double> least, most;
  for (const Bound& bound : blank.bounds) least.push_back(bound.least), most.push_back(bound.most);
  OnnxGraph& graph = *y.graph;
  return graph.op("Min", {graph.op("Max", {y, graph.reals(least)}), graph.reals(most)});
}

}  // namespace

void write_onnx(const std::filesystem::path& path, const SavedModel& saved) {
  const BlankModel blank(saved, "onnx");
  const ModelFacts& facts = saved.facts;
  const SeriesModel* const model = blank.model.get();
  const NetworkPlan& plan = model->plan();
  const auto& [keys, task, columns, place] = plan;
  const std::vector<int>& inputs = blank.inputs;

  OnnxGraph graph("series");
  const OnnxValue x = graph.input("x", {plan.rows_read(), "batch", columns.inputs}, OnnxType::real64);
  OnnxSeries network{.plan = plan, .params = model->params};
  OnnxScaling scaling{saved, {}};
  if (!facts.members.empty()) scaling.series = graph.input("series", {"batch"}, OnnxType::int64);
  const OnnxValue y = network.outputs(cast(scaling.apply(x, inputs), OnnxType::real32));
  if (task.detects) {
    graph.output("probability", reshape(sigmoid(y), {-1}), {"batch"});
  } else {
    const int outputs = task.outputs(), width = plan.width(), targets = plan.targets();
    const OnnxValue apart = reshape(y, {-1, targets / width, outputs, task.horizon, width});
    const OnnxValue found = reshape(permute(apart, {2, 3, 0, 1, 4}), {outputs, task.horizon, -1, targets});
    const OnnxValue values = scaling.undo(cast(in_order(found, outputs), OnnxType::real64), blank.targets);
    graph.output("forecast", bounded(values, blank), {outputs, task.horizon, "batch", targets},
                 OnnxType::real64);
  }
  const auto names = [&](const std::vector<int>& channels) {
    return json_text(nlohmann::ordered_json(blank.names(channels)));
  };
  graph.note("inputs", names(blank.inputs)), graph.note("targets", names(blank.targets));
  if (const std::string bounds = blank.bounds_text(); !bounds.empty()) graph.note("bounds", bounds);
  for (const auto& [key, text] : model_metadata(saved.recipe, facts, *model)) graph.note(key, text);
  graph.write(path);
}

}  // namespace timeseries
