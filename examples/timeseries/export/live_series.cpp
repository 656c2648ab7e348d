#include "examples/timeseries/export/live_series.h"

#include <algorithm>

#include "examples/timeseries/export/step_networks.h"
#include "examples/timeseries/model/interval.h"
#include "export/step_of.h"
#include "training/files/json/json.h"

namespace timeseries {

using Json = nlohmann::ordered_json;

static Json scaling_json(const Scaling& scaling, int channel) {
  const ChannelScaling& of = scaling.at(channel);
  return {{"log", of.is_log}, {"shift", of.used_shift()}, {"scale", of.used_scale()}};
}

std::string live_json(const SavedModel& saved, const LookedWindow& window, const LiveOption& live) {
  const SeriesModel& model = window.model();
  const NetworkPlan& plan = model.plan();
  StepBuilder step(weights_of(model.params));
  const StepVector x = step.input("x", plan.rows_read() * plan.columns.inputs),
                   read = step.work("read", x.size);
  step.copy(read, x);
  step.output("forecast", forecast_step(step, plan, read));
  StepPlan sorted_by_page = step.plan();
  std::erase_if(sorted_by_page.calls, [](const StepCall& call) { return call.kernel == "sort"; });
  Json json =
      live.plan_json(sorted_by_page, facts_of(plan.keys.cell).name, model.params, saved.path.string());
  const auto values = window.input().to_host();
  const std::vector<float> numbers(values.begin(), values.end());
  const Bound bound = window.detects() ? Bound{}
                                       : bounds_of(saved.recipe, saved.facts.trained, window.windows())
                                             .at(window.origin(), window.target());
  json["kind"] = "live";
  json["x"] = base64(numbers.data(), sizeof(float) * numbers.size());
  json["outputs"] = plan.task.outputs(), json["middle"] = window.recipe().middle_output();
  json["targets"] = plan.targets(), json["target"] = window.target();
  const auto input = std::ranges::find(window.inputs(), window.channel());
  if (input != window.inputs().end()) json["input"] = input - window.inputs().begin();
  for (const int channel : window.inputs()) json["inputs"].push_back(scaling_json(window.scaling(), channel));
  json["unit"] = scaling_json(window.scaling(), window.channel());
  json["least"] = std::max(bound.least, -1e308), json["most"] = std::min(bound.most, 1e308);
  return json_text(json);
}

}  // namespace timeseries
