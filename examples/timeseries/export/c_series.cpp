#include "examples/timeseries/export/c_series.h"

#include <fmt/ranges.h>

#include "examples/timeseries/export/blank_model.h"
#include "examples/timeseries/export/step_networks.h"
#include "export/c_header.h"
#include "export/step_of.h"

namespace timeseries {

namespace {

// Channels between a file's units and the network's.
struct StepScaling {
  StepBuilder& step;
  const Scaling& scaling;

  // f(channel, its place) for several series side by side, as the step needs one.
  template <class F>
  StepVector table(const char* name, const std::vector<int>& channels, F f) const {
    std::vector<float> values;
    for (const int channel : channels)
      for (int member = 0; member < scaling.members; ++member)
        values.push_back(static_cast<float>(f(static_cast<size_t>(scaling.place(channel, member)))));
    const int width = static_cast<int>(channels.size());
    const StepVector all = step.constant(std::string(name) + "_table", values);
    const StepVector own = step.work(name, width);
    step.call({.kernel = "column",
               .sizes = {width, scaling.members, scaling.members > 1 ? token_size : 0},
               .places = {own.place, all.place}});
    return own;
  }

  // x [rows, channels]
  void apply(const StepVector& x, const std::vector<int>& channels) const {
    const int width = static_cast<int>(channels.size()), rows = x.size / width;
    each_log(x, channels, "column", "log");
    const StepVector shift = table("shift", channels, [&](size_t at) { return shift_of(at); });
    const StepVector factor = table("factor", channels, [&](size_t at) { return 1 / scale_of(at); });
    step.loop(rows);
    const StepVector row = step.turned(x.part(0, width), width);
    step.call("subtract", row, {shift});
    step.call("multiply", row, {factor});
    step.end_loop();
  }
  double scale_of(size_t at) const { return scaling.channels[at].used_scale(); }
  double shift_of(size_t at) const { return scaling.channels[at].used_shift(); }
  // A function of each channel whose logarithm is scaled.
  void each_log(const StepVector& x, const std::vector<int>& channels, const char* name,
                const char* function) const {
    const int width = static_cast<int>(channels.size()), rows = x.size / width;
    for (int k = 0; k < width; ++k) {
      if (!scaling.at(channels[static_cast<size_t>(k)]).is_log) continue;
      const StepVector own = step.work(name, rows), place = x.part(k, x.size);
      step.call({.kernel = "move", .sizes = {rows, 1, width}, .places = {own.place, place.place}});
      step.call(function, own);
      step.call({.kernel = "move", .sizes = {rows, width, 1}, .places = {place.place, own.place}});
    }
  }
  // y [rows, channels]
  void undo(const StepVector& y, const std::vector<int>& channels) const {
    const int width = static_cast<int>(channels.size()), rows = y.size / width;
    const StepVector shift = table("shift_of_targets", channels, [&](size_t at) { return shift_of(at); });
    const StepVector scale = table("scale_of_targets", channels, [&](size_t at) { return scale_of(at); });
    step.loop(rows);
    const StepVector row = step.turned(y.part(0, width), width);
    step.call("multiply", row, {scale});
    step.call("add", row, {shift});
    step.end_loop();
    each_log(y, channels, "column_of_targets", "exp");
  }
};

}  // namespace

static StepPlan plan_of(const SavedModel& saved, const BlankModel& blank) {
  const NetworkPlan& plan = blank.model->plan();
  const bool detects = plan.task.detects;
  StepBuilder step(weights_of(blank.model->params));
  const StepVector x = step.input("x", plan.rows_read() * plan.columns.inputs);
  const Scaling& scaling = saved.facts.scaling;
  if (scaling.members > 1) step.read_token("series", 0, scaling.members);
  const StepVector scaled = step.work("scaled", x.size);
  step.copy(scaled, x);
  const StepScaling between{step, scaling};
  between.apply(scaled, blank.inputs);
  const StepVector y = forecast_step(step, plan, scaled);
  if (!detects) between.undo(y, blank.targets);
  step.output(detects ? "probability" : "forecast", y);
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
  std::string says =
      fmt::format("x: {} of each row. The output: {}", fmt::join(blank.names(blank.inputs), ", "),
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
