#include "examples/timeseries/export/c_series.h"

#include <algorithm>
#include <limits>

#include <fmt/ranges.h>

#include "examples/timeseries/export/blank_model.h"
#include "examples/timeseries/export/step_networks.h"
#include "export/c_header.h"
#include "export/step_of.h"

namespace timeseries {

namespace {

// Channels between a file's units, in 64 bits, and the network's.
struct StepScaling {
  StepBuilder& step;
  const Scaling& scaling;

  // A number of each channel in each of several series: [channels, series].
  StepVector table(const std::string& name, const std::vector<int>& channels,
                   double (ChannelScaling::*number)() const) const {
    std::vector<double> values;
    for (const int channel : channels)
      for (int member = 0; member < scaling.members; ++member)
        values.push_back((scaling.at(scaling.place(channel, member)).*number)());
    return step.constant64(name, values);
  }
  // y from x [rows, channels], in a loop over each run of channels that are alike. bounds: of values in a file's units, by channel;
  // none: into the network's scale.
  void convert(const StepVector& y, const StepVector& x, const std::vector<int>& channels,
               const std::vector<Bound>& bounds = {}) const {
    const int width = static_cast<int>(channels.size()), rows = y.size / width, members = scaling.members;
    const auto is_log = [&](int k) { return scaling.at(channels[static_cast<size_t>(k)]).is_log; };
    const std::string of = bounds.empty() ? "" : " of targets";
    const StepVector shift = table("shift" + of, channels, &ChannelScaling::used_shift),
                     scale = table("scale" + of, channels, &ChannelScaling::used_scale);
    constexpr double most = std::numeric_limits<double>::max();  // a header has no infinity
    std::vector<double> ends;
    for (const Bound& b : bounds) ends.insert(ends.end(), {std::max(b.least, -most), std::min(b.most, most)});
    const StepVector all_ends = bounds.empty() ? StepVector() : step.constant64("bounds", ends);
    for (int k = 0, end = 0; k < width; k = end) {
      for (end = k + 1; end < width && is_log(end) == is_log(k);) ++end;
      step.loop(end - k);
      const auto place = [&](const StepVector& all, int each) {
        return step.turned(all.part(k * each, all.size), each).place;
      };
      StepCall call{.kernel = bounds.empty() ? "scaled" : "in_units",
                    .sizes = {rows, width, members > 1 ? token_size : 0, is_log(k)},
                    .places = {place(y, 1), place(x, 1), place(shift, members), place(scale, members)}};
      if (!bounds.empty()) call.places.push_back(place(all_ends, 2));
      step.call(call);
      step.end_loop();
    }
  }
};

}  // namespace

static StepPlan plan_of(const SavedModel& saved, const BlankModel& blank) {
  const NetworkPlan& plan = blank.model->plan();
  StepBuilder step(weights_of(blank.model->params));
  const StepVector x = step.input64("x", plan.rows_read() * plan.columns.inputs);
  const Scaling& scaling = saved.facts.scaling;
  if (scaling.members > 1) step.read_token("series", 0, scaling.members);
  const StepVector scaled = step.work("scaled", x.size);
  const StepScaling between{step, scaling};
  between.convert(scaled, x, blank.inputs);
  const StepVector y = forecast_step(step, plan, scaled);
  if (plan.task.detects)
    step.output("probability", y);
  else
    between.convert(step.output64("forecast", y.size), y, blank.targets, blank.bounds);
  return step.plan();
}

StepPlan step_plan(const SavedModel& saved) { return plan_of(saved, BlankModel(saved, "a C header")); }

StepPlan step_plan(const PretrainedNetwork& network) {
  constexpr int segments = most_ahead / segment_rows, most = most_context / segment_rows;
  StepBuilder step(weights_of(network.params));
  step.read_token("segments", 1, most + 1);
  const StepVector context = step.input("context", most * context_width),
                   ahead = step.input("ahead", segments * ahead_width),
                   base = step.input("base", segments * segment_rows);
  const StepVector quantiles = step.output("quantiles", forecast_quantiles * most_ahead);
  const CellKind cell = network.layers.cell().kind;
  const RecurrentConfig& config = network.layers.config();
  const std::string path = facts_of(cell).name;
  const RecurrentPlaces state = step.recurrent_state(path, cell, config, StepArray::Kind::work);
  step.loop(token_size);
  const StepVector known =
      append(step, network.context, step.turned(context.part(0, context_width), context_width));
  step.call("gelu", known);
  step.recurrent(path, cell, config, known, state);
  step.end_loop();
  step.loop(segments);
  const StepVector place = step.turned(ahead.part(0, ahead_width), ahead_width),
                   places = append(step, network.ahead, place);
  step.call("gelu", places);
  const StepVector y = step.recurrent(path, cell, config, places, state),
                   both = step.work("both", y.size + places.size);
  step.copy(both.part(0, y.size), y);
  step.copy(both.part(y.size, both.size), places);
  const StepVector read = append(step, network.hidden, both);
  step.call("gelu", read);
  const StepVector numbers = append(step, network.out, read);
  step.call("add", numbers, {append(step, network.direct, place)});
  const auto part = [&](int k) { return numbers.part(k * segment_rows, (k + 1) * segment_rows); };
  const auto level = [&](int k) {
    return step.turned(quantiles.part(k * most_ahead, k * most_ahead + segment_rows), segment_rows);
  };
  step.call("add", part(median_level), {step.turned(base.part(0, segment_rows), segment_rows)});
  step.copy(level(median_level), part(median_level));
  for (int k = 1; k <= median_level; ++k)
    for (const int sign : {1, -1}) {
      const int at = median_level + sign * k;
      step.call("softplus", part(at));
      step.copy(level(at), level(at - sign));
      step.call(sign > 0 ? "add" : "subtract", level(at), {part(at)});
    }
  step.end_loop();
  return step.plan();
}

void write_c(const std::filesystem::path& path, const SavedModel& saved, int bits) {
  const BlankModel blank(saved, "a C header");
  std::string says = blank.bounds_text();
  if (!says.empty()) says = "Bounds of the output: " + says + ".\n";
  says += fmt::format("x: {} of each row. The output: {}", fmt::join(blank.names(blank.inputs), ", "),
                      fmt::join(blank.names(blank.targets), ", "));
  write_c_header(path, plan_of(saved, blank), {.name = c_name(path), .bits = bits, .says = says});
}

void write_c(const std::filesystem::path& path, const PretrainedNetwork& network, int bits) {
  write_c_header(path, step_plan(network),
                 {.name = c_name(path),
                  .bits = bits,
                  .says = fmt::format("quantiles: levels {}, each of {} rows",
                                      fmt::join(forecast_levels, ", "), most_ahead)});
}

}  // namespace timeseries
