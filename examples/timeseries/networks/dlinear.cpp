// DLinear (Zeng, Chen, Zhang, Xu 2023): weighted sums of the window's moving average, and of the rest.
#include "examples/timeseries/networks/network.h"
#include "framework/ops.h"
#include "layers/highway.h"

namespace timeseries {

// The mean of `length` values around each, the first and the last one repeated beyond the ends: [rows, window].
static Var moving_average(const Var& x, int length) {
  const auto read = [length, window = int64_t{x.dim(1)}](int64_t place,
                                                         int k) {  // the place of the mean's value k
    const int64_t at = place % window;
    return place - at + std::clamp<int64_t>(at - (length - 1) / 2 + k, 0, window - 1);
  };
  const Tensor average(x.shape());
  {
    const auto from = x.value().on_host();
    const auto to = average.on_host(Access::overwrite);
    for (int64_t place = 0; place < average.size(); ++place) {
      double sum = 0;
      for (int k = 0; k < length; ++k) sum += from[read(place, k)];
      to[place] = static_cast<real>(sum / length);
    }
  }
  return record("moving_average", average, inputs(x), [=](const Var& y) {
    const Tensor grad = y.grad(), d = Tensor::zeros(y.shape());
    {
      const auto dy = grad.on_host();
      const auto dx = d.on_host(Access::change);
      for (int64_t place = 0; place < d.size(); ++place)
        for (int k = 0; k < length; ++k) dx[read(place, k)] += dy[place] / static_cast<real>(length);
    }
    contribute(d, x);
  });
}

struct DLinear : Network {
  explicit DLinear(const NetworkPlan& plan)
      : length(plan.keys.moving_average),
        rest(plan.dense("linear", plan.task.window, plan.task.horizon * plan.outputs())),
        trend(plan.dense("trend", plan.task.window, plan.task.horizon * plan.outputs())),
        ahead(plan, 0) {}

  Var operator()(const Window& window) const override {
    const Var x = last_values(window.x, 0, window.x.dim(0)), average = moving_average(x, length);
    return ahead(rest(x - average) + trend(average), window);
  }

  int length;
  Dense rest, trend;
  Ahead ahead;
};

std::unique_ptr<Network> make_dlinear(const NetworkPlan& plan) { return std::make_unique<DLinear>(plan); }

}  // namespace timeseries
