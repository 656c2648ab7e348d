// LTSF-Linear (Zeng, Chen, Zhang, Xu 2023): the horizon as weighted sums of the window.
#include "examples/timeseries/networks/network.h"
#include "layers/highway.h"

namespace timeseries {

struct Linear : Network {
  explicit Linear(const NetworkPlan& plan)
      : sums(plan.dense("linear", plan.task.window, plan.task.horizon * plan.outputs())), ahead(plan, 0) {}

  Var operator()(const Window& window) const override {
    return ahead(sums(last_values(window.x, 0, window.x.dim(0))), window);
  }

  Dense sums;
  Ahead ahead;
};

std::unique_ptr<Network> make_linear(const NetworkPlan& plan) { return std::make_unique<Linear>(plan); }

}  // namespace timeseries
