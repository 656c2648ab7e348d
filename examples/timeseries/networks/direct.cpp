// Recurrent layers over the window, and a dense layer from their last step to the whole horizon.
#include "examples/timeseries/networks/network.h"
#include "framework/ops.h"
#include "layers/highway.h"

namespace timeseries {

struct Direct : Network {
  explicit Direct(const NetworkPlan& p)
      : plan(p),
        layers(plan.recurrent(facts_of(plan.keys.cell).name, plan.keys.segment * plan.features())),
        dropout(plan.dropout()),
        head(plan.dense("head", plan.keys.output(), plan.task.horizon * plan.outputs())),
        ahead(plan, plan.keys.output()) {
    if (plan.keys.highway > 0)
      highway.emplace(
          plan.place("highway"),
          HighwayConfig{.length = plan.keys.highway * (plan.task.detects ? plan.columns.inputs : 1),
                        .out = plan.task.outputs() * plan.task.horizon});
  }

  Var operator()(const Window& window) const override {
    const Var steps =
        window.run(layers, in_segments(window.x, plan.keys.segment), layers.zero_state(window.rows())).y;
    const Var state = dropout(row(steps, -1)), y = head(state);
    return ahead(highway ? y + linear_path(window.x) : y, window, state);
  }
  const RecurrentLayer* recurrent() const override { return &layers; }

  // Each target reads its own values. A detector reads all inputs, one after the other as one channel.
  Var linear_path(const Var& x) const {
    std::vector<int> channels(static_cast<size_t>(plan.width()));
    for (size_t k = 0; k < channels.size(); ++k) channels[k] = plan.feature_of(static_cast<int>(k));
    if (!plan.task.detects)
      return reshape((*highway)(x, channels), {x.dim(1), highway->config.out * plan.width()});
    Vars inputs;
    for (int c = 0; c < plan.columns.inputs; ++c) inputs.push_back(last_values(x, c, plan.keys.highway));
    const Var all = transpose(concat(inputs, 1));
    return reshape((*highway)(reshape(all, {all.dim(0), x.dim(1), 1}), std::array{0}), {x.dim(1), 1});
  }

  const NetworkPlan plan;
  RecurrentLayer layers;
  Dropout dropout;
  Dense head;
  Ahead ahead;
  std::optional<Highway> highway;
};

std::unique_ptr<Network> make_direct(const NetworkPlan& plan) { return std::make_unique<Direct>(plan); }

}  // namespace timeseries
