#include "examples/timeseries/networks/model.h"

#include <cmath>
#include <tuple>

#include "framework/kernels/kernels.h"
#include "framework/loss.h"
#include "framework/ops.h"

namespace timeseries {

Columns columns_of(const SeriesWindows& windows) {
  const SeriesWindowOptions& options = windows.options();
  const Series& series = windows.series();
  Columns columns{.inputs = static_cast<int>(options.inputs.size()), .calendar = 0, .targets = {}};
  for (const int channel : options.inputs) columns.calendar += channel >= series.width() - series.calendar;
  std::vector<int> place(static_cast<size_t>(series.width()), -1);  // of each channel among the inputs
  for (int k = columns.inputs; k-- > 0;) place[options.inputs[static_cast<size_t>(k)]] = k;
  for (const int target : options.targets) columns.targets.push_back(place[target]);
  for (const int channel : options.known) columns.known.push_back(place[channel]);
  return columns;
}

SeriesNetwork::SeriesNetwork(const NetworkPlan& plan, uint64_t seed) : params(seed), plan_(plan) {
  plan_.place = [this](const std::string& name) { return params / name; };
  const auto& [keys, task, columns, place] = plan_;
  const bool reads_targets =
      !task.detects && (plan_.by_channel() || keys.normalization != Normalization::none || keys.highway > 0);
  require_input(!reads_targets || std::ranges::find(columns.targets, -1) == columns.targets.end(),
                "{}: data.targets must be among data.channels: the model goes on from their values",
                task.name);
  network_ = keys.architecture->make(plan_);
}

// --- windows ------------------------------------------------------------------------------------------------

namespace {

// y = (x - m) / s,  m the mean of the first `window` rows,  s = √(their variance + 1e-5): a constant is not blown up.
//   dx[t] = dy[t] / s + (dm - Σ dy / s + (ds - Σ dy·y / s)·y[t]) / window;  in later rows dy[t] / s
// x, y [rows, batch, columns]; m, s [batch, columns]
std::array<Var, 3> standardize(const Var& x, int window) {
  const int rows = x.dim(0);
  const Tensor y(x.shape()), mean({x.dim(1), x.dim(2)}), deviation(mean.shape());
  {
    const auto from = x.value().on_host();
    const auto to = y.on_host(Access::overwrite), means = mean.on_host(Access::overwrite),
               deviations = deviation.on_host(Access::overwrite);
    for (int64_t i = 0, width = mean.size(); i < width; ++i) {
      double sum = 0, squares = 0;
      for (int t = 0; t < window; ++t) sum += from[t * width + i];
      const double m = sum / window;
      for (int t = 0; t < window; ++t) squares += (from[t * width + i] - m) * (from[t * width + i] - m);
      const double s = std::sqrt(squares / window + 1e-5);
      for (int t = 0; t < rows; ++t) to[t * width + i] = static_cast<real>((from[t * width + i] - m) / s);
      means[i] = static_cast<real>(m), deviations[i] = static_cast<real>(s);
    }
  }
  return record<3>(
      "standardize", std::array{y, mean, deviation}, inputs(x),
      [=](const Var& of_y, const Var& of_m, const Var& of_s) {
        const Var d = div(of_y.grad(), deviation);
        const Var of_both = of_m.grad() - sum(d, 0) + (of_s.grad() - sum(d * y, 0)) * slice(y, 0, 0, window);
        contribute((d + pad(of_both / static_cast<real>(window), 0, 0, rows - window)).value(), x);
      });
}

// Some of the last dimension, in this order.
Var chosen(const Var& x, const std::vector<int>& columns) {
  return index_select(x, -1, IdTensor::from(Shape{static_cast<int>(columns.size())}, columns));
}

// [steps, batch, n] -> [steps, batch * each, n]: each one so often.
Var repeated(const Var& x, int each) {
  if (each == 1) return x;
  const int steps = x.dim(0), batch = x.dim(1), n = x.dim(2);
  return reshape(broadcast_to(reshape(x, {steps, batch, 1, n}), {steps, batch, each, n}), {steps, -1, n});
}

}  // namespace

Window SeriesNetwork::window(const Var& input, int target) const {
  const auto& [keys, task, columns, place] = plan_;
  const int inputs = columns.inputs, batch = input.dim(1);
  const bool recurrent = keys.architecture->is_recurrent();
  // Features of the calendar stay, unless a network without recurrent layers goes on from the last row's.
  const bool by_last = keys.normalization == Normalization::last,
             by_mean = keys.normalization == Normalization::window;
  const int values = by_mean || (by_last && recurrent) ? inputs - columns.calendar : inputs;
  Var x = values < input.dim(2) ? slice(input, 2, 0, values) : input, level, deviation;  // [batch, values]
  if (by_last)
    level = row(x, task.window - 1), x = x - level;
  else if (by_mean)
    std::tie(x, level, deviation) = std::tuple_cat(standardize(x, task.window));
  if (values < inputs) x = concat(Vars{x, slice(input, 2, values, inputs)}, 2);
  Window result;
  std::vector<int> own;  // the columns of result.targets
  for (int k = 0; k < plan_.targets(); ++k)
    if (plan_.by_channel() && (target < 0 || k == target))
      result.targets.push_back(k), own.push_back(columns.targets[k]);
  const int each = std::max(1, static_cast<int>(own.size()));
  const Var read = columns.ahead() > 0 ? slice(x, 0, 0, task.window) : x;
  result.x = plan_.by_channel() ? reshape(chosen(read, own), {task.window, batch * each, 1}) : read;
  if (const auto beside = columns.beside_target(); plan_.by_channel() && recurrent && !beside.empty())
    result.x = concat(Vars{result.x, repeated(chosen(read, beside), each)}, 2);
  if (columns.ahead() > 0) {
    const Var of_steps = chosen(slice(x, 0, task.window, task.window + task.horizon), columns.known);
    result.ahead = reshape(repeated(of_steps, each), {-1, columns.ahead()});
  }
  const std::vector<int>& of = own.empty() ? columns.targets : own;
  const auto of_targets = [&](const Var& all) { return reshape(chosen(all, of), {-1, 1, plan_.width()}); };
  if (level.value().defined() && !task.detects) result.level = of_targets(level);
  if (deviation.value().defined() && !task.detects) result.deviation = of_targets(deviation);
  return result;
}

// --- losses and forecasts -----------------------------------------------------------------------------------

Vars SeriesNetwork::outputs(const Window& window) const {
  Var y = (*network_)(window);
  if (window.level.value().defined()) {
    Var steps = reshape(y, {window.rows(), -1, plan_.width()});
    if (window.deviation.value().defined()) steps = steps * window.deviation;
    y = reshape(steps + window.level, y.shape());
  }
  const int outputs = plan_.task.outputs();
  return outputs == 1 ? Vars{y} : chunk(y, outputs, 1);
}

// [horizon, batch, targets] -> [rows, horizon * width]
Tensor SeriesNetwork::in_rows(const Tensor& target) const {
  const int horizon = target.dim(0), batch = target.dim(1), width = plan_.width();
  const Var apart = reshape(target, {horizon, batch, plan_.targets() / width, width});
  return reshape(permute(apart, {1, 2, 0, 3}), {-1, horizon * width}).value();
}

WindowLoss SeriesNetwork::loss(const SeriesBatch& batch) const {
  const Vars y = outputs(window(batch.input));
  const Tensor target = in_rows(batch.target),
               weights = batch.weights.defined() ? in_rows(batch.weights) : Tensor();
  const NetworkTask& task = plan_.task;
  const Var mean =
      task.detects ? binary_cross_entropy(
                         y[0], target, {.pos_weight = static_cast<real>(task.pos_weight), .weights = weights})
      : task.quantiles.empty() ? mean_squared_error(y[0], target, {.weights = weights})
                               : quantile_loss(y, target, task.quantiles, {.weights = weights});
  return mean_loss(mean, batch.observed);
}

Tensor SeriesNetwork::predict(const Tensor& input) const {
  const NoTape guard;
  const int batch = input.dim(1), width = plan_.width(), targets = plan_.targets();
  Vars y = outputs(window(input));
  for (Var& of : y)  // [rows, horizon * width] -> [horizon, batch, targets]
    of = reshape(permute(reshape(of, {batch, targets / width, -1, width}), {2, 0, 1, 3}),
                 {-1, batch, targets});
  // Quantiles that were learnt one by one may cross: in order they are no worse (Chernozhukov, Fernández-Val, Galichon 2010).
  const Tensor result =
      (y.size() == 1 ? stack(y) : flip(topk(stack(y), static_cast<int>(y.size()), 0).values)).value();
  if (!plan_.task.detects) return result;
  for (real& v : result.on_host(Access::change))
    v = static_cast<real>(1 / (1 + std::exp(-static_cast<double>(v))));
  return result;
}

void require_finite(const Tensor& found, const SeriesWindows& windows, int64_t origin) {
  require_input(
      std::isfinite(kernels().sum_of_squares(found.data(), found.size())),
      "{}: the model's values from {} on are not finite: these rows, or its weights, are too large to compute with",
      windows.series().origin, windows.series().times.text(origin));
}

}  // namespace timeseries
