#include "examples/timeseries/look/look_numbers.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "examples/timeseries/model/interval.h"
#include "framework/one_line.h"
#include "framework/ops.h"
#include "training/program/cli/command.h"

namespace timeseries {

namespace {

constexpr int most_shown = 60, most_gradients = 300'000;

// All steps of the horizon, or as many as fit on a page, evenly spread, with the first and the last.
std::vector<int> shown_steps(const LookedWindow& window) {
  const int horizon = window.horizon();
  const int64_t each = int64_t{window.window()} * std::ssize(window.inputs());
  const int count =
      std::min(horizon, static_cast<int>(std::clamp<int64_t>(most_gradients / each, 2, most_shown)));
  std::vector<int> shown;
  for (int i = 0; i < count; ++i)
    shown.push_back(count == 1 ? 0 : static_cast<int>(int64_t{i} * (horizon - 1) / (count - 1)));
  return shown;
}

// The middle output at each of these steps. Quantiles may cross, so they are sorted first.
std::vector<size_t> middle_outputs(const SeriesModel& model, const LookedWindow& window,
                                   const std::vector<int>& shown) {
  const NoTape values_alone;
  std::vector<std::vector<real>> values;  // by output
  for (const Var& y : trace(model, window.input(), window.target()).y) values.push_back(y.value().to_host());
  std::vector<size_t> order(values.size()), result;
  for (const int step : shown) {
    const auto column = static_cast<size_t>(model.plan().column_of(step, window.target()));
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, {}, [&](size_t q) { return values[q][column]; });
    result.push_back(order[window.recipe().middle_output()]);
  }
  return result;
}

OutputReach reach_of(const SeriesModel& model, const LookedWindow& window, const std::vector<int>& shown) {
  const SequenceModel forward = [&](const Var& x) -> SequenceOutput {
    Trace seen = trace(model, x, window.target());
    return {concat(seen.y, 1), std::move(seen.cells)};
  };
  const std::vector<size_t> outputs = middle_outputs(model, window, shown);
  std::vector<int> columns;
  for (size_t i = 0; i < shown.size(); ++i)
    columns.push_back(static_cast<int>(outputs[i]) * window.horizon() * model.plan().width() +
                      model.plan().column_of(shown[i], window.target()));
  const Tensor input = window.input();
  return output_reach(model.params, forward, input.reshape({input.dim(0), input.dim(2)}), columns);
}

}  // namespace

LookedWindow::LookedWindow(const SavedModel& saved, const std::filesystem::path& csv, const std::string& at,
                           const std::string& target)
    : saved_(saved) {
  const std::string path = saved.path.string();
  require_input(recipe().data.known.empty(),
                "look: the model of {} reads rows that it forecasts (data.known): no page shows them", path);
  require_input(steps() <= most_steps, "{}: it reads a window in {} steps; a page has {} at most", path,
                steps(), most_steps);
  if (detects()) {
    labelled_ = csv.empty() || has_labels(saved, csv);
    series_ = labelled_ ? load_series(saved, csv) : load_unlabelled(saved, csv);
    rows_ = series_.rows();
  } else {
    series_ = load_series(saved, csv, horizon());
    rows_ = series_.rows() - horizon();
  }
  require_input(rows_ >= window(), "{}: it has {} row{}; the model of {} reads {}", series_.origin, rows_,
                plural(rows_), path, window());
  origin_ = at.empty() ? (detects() ? rows_ - 1 : std::max(first_origin(), rows_ - horizon())) : row_of(at);
  windows_ = std::make_unique<SeriesWindows>(
      make_windows(recipe(), series_, scaling(), {{first_origin(), series_.rows(), 0}}, "look"));
  model_ = saved.make_model(*windows_);
  if (target.empty()) return;
  const auto& targets = windows_->options().targets;
  const auto found = std::ranges::find(targets, series_.channel(target));
  require_input(found != targets.end(), "look: {} does not forecast --target {}", path, target);
  target_ = static_cast<int>(found - targets.begin());
}

int64_t row_at(const Series& series, const std::string& at, int64_t begin, int64_t end) {
  const Times& times = series.times;
  const auto time = parse_time(at, times.form, series.date_order);
  const auto all = std::span(times.at).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
  const auto found =
      time && time->form == times.form ? std::ranges::find(all, times.count_of(*time)) : all.end();
  require_input(found != all.end(), "look: --at {} is not the time of a row; those of {} go from {} to {}",
                at, series.origin, times.text(begin), times.text(end - 1));
  return begin + (found - all.begin());
}

int64_t LookedWindow::row_of(const std::string& at) const {
  const Times& times = series_.times;
  const int64_t row = row_at(series_, at, 0, std::min(end_of_origins(), series_.rows()));
  require_input(row >= first_origin(),
                "look: --at {} has {} row{} before it; the model of {} reads {}, so {} is the first", at, row,
                plural(row), saved_.path.string(), window(), times.text(first_origin()));
  return row;
}

bool LookedWindow::is_known(int64_t row, int channel) const {
  return row < rows_ && !series_.is_filled(row, channel) && (labelled_ || channel != series_.label);
}

std::vector<std::vector<double>> LookedWindow::forecast() const {
  const Tensor found = model_->predict(input());  // [outputs, horizon, 1, targets]
  require_finite(found, *windows_, origin_);
  const auto values = found.to_host();
  const int targets = found.dim(3);
  const Bound bound =
      detects() ? Bound{} : bounds_of(recipe(), saved_.facts.trained, *windows_).at(origin_, target_);
  std::vector<std::vector<double>> result(found.dim(0));
  for (int q = 0; q < found.dim(0); ++q)
    for (int step = 0; step < horizon(); ++step)
      result[q].push_back(
          bound.clamp(scaling().undo(values[(q * horizon() + step) * targets + target_], channel())));
  return result;
}

std::unique_ptr<SeriesModel> LookedWindow::untrained() const {
  return std::make_unique<SeriesModel>(recipe(), columns_of(*windows_));
}

LookedSeries look_inside(const LookedWindow& window) {
  LookedSeries look;
  look.shown = shown_steps(window);
  SeriesModel& model = window.model();
  {
    const NoTape values_alone;
    const Trace seen = trace(model, window.input(), window.target());
    look.gate_names = seen.gates;
    look.layers = layer_values(seen.cells);
  }
  look.reach = reach_of(model, window, look.shown);
  look.untrained = reach_of(*window.untrained(), window, look.shown);
  const std::vector<size_t> outputs = middle_outputs(model, window, look.shown);
  for (size_t i = 0; i < look.shown.size(); ++i) {
    Tape tape({.dropout = false, .observer = &look.tapes.emplace_back()});
    const Vars y = trace_of_step(model, window.input(), window.target(), look.shown[i]);
    tape.backward(sum(y[outputs[i]]));
    model.params.spend_gradients();
  }
  look.offered = offer_units(window);
  return look;
}

// --- a network while it forecasts ---------------------------------------------------------------------------

Trace trace(const SeriesNetwork& network, const Var& input, int target) {
  Trace trace;
  Window window = network.window(input, target);
  window.run = [&](const RecurrentLayer& layers, const Var& x, const RecurrentVars& state) {
    const RecurrentTrace seen = layers.trace(x, state);
    trace.gates = seen.gate_names;
    trace.cells = seen.cells;
    return RecurrentOutput{seen.y, seen.state};
  };
  trace.y = network.outputs(window);
  trace.read = window.x;
  return trace;
}

Vars trace_of_step(const SeriesNetwork& network, const Tensor& input, int target, int step) {
  Window window = network.window(input, target);
  window.run = [](const RecurrentLayer& layers, const Var& x, RecurrentVars state) {
    const int last = x.dim(0) - 1;
    const Var last_step = last > 0 ? slice(x, 0, last) : x;
    if (last > 0) {
      const NoTape constant;
      state = layers(slice(x, 0, 0, last), state).state;
    }
    const RecurrentTrace seen = layers.trace(last_step, state);
    return RecurrentOutput{seen.y, seen.state};
  };
  Vars result = network.outputs(window);
  const int column = network.plan().column_of(step, target);
  for (Var& y : result) y = slice(y, 1, column, column + 1);
  return result;
}

// --- units that follow properties of the rows read, and the best unit for each property ---------------------

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

// After a step of a window whose rows the layers read as `z`: the row just read, its change, position in the window; with a
// period above 1 before the last the row a season before the one to come, and the mean of the season that was read.
std::vector<double> properties_after(int step, const std::vector<real>& z, int segment, int period) {
  const int t = (step + 1) * segment - 1;  // the last row read
  const auto at = [&](int row) { return row < 0 ? none : static_cast<double>(z[row]); };
  std::vector<double> numbers{at(t), at(t) - at(t - 1)};
  if (period > 1) {
    double sum = 0;
    for (int row = t - period + 1; row <= t; ++row) sum += at(row);
    numbers.insert(numbers.end(), {at(t - period + 1), sum / period});
  }
  numbers.push_back(step);
  return numbers;
}

}  // namespace

std::vector<OfferedUnit> offer_units(const LookedWindow& window) {
  const SeriesModel& model = window.model();
  if (!model.recurrent()) return {};
  const Recipe& recipe = window.recipe();
  constexpr int64_t most_windows = 40, most_steps = 4000;
  const int64_t origins = window.end_of_origins() - window.first_origin();
  const int64_t count = std::min(origins, std::clamp<int64_t>(most_steps / window.steps(), 1, most_windows));
  const int period = recipe.data.period < window.window() ? static_cast<int>(recipe.data.period) : 1;
  const int column = model.plan().feature_of(window.target());
  const std::string name = window.series().channels[window.inputs()[model.plan().input_of(window.target())]];
  std::vector<UnitProperty> properties{{"the " + name + " just read"}, {"its change from the row before"}};
  if (period > 1) {
    properties.push_back({fmt::format("{} of {} rows before the one to come", name, period)});
    properties.push_back({fmt::format("its mean of {} rows", period)});
  }
  properties.push_back({"position in the window"});
  const NoTape values_alone;
  std::vector<Vars> states;  // by layer and window: [steps, units]
  for (int64_t i = 0; i < count; ++i) {
    const int64_t origin =
        window.first_origin() + (count == 1 ? origins - 1 : i * (origins - 1) / (count - 1));
    const Trace seen = trace(model, window.input(origin), window.target());
    const std::vector<real> z = slice(seen.read, 2, column, column + 1).value().to_host();  // [window]
    for (int step = 0; step < window.steps(); ++step) {
      const std::vector<double> numbers = properties_after(step, z, recipe.model.segment, period);
      for (size_t k = 0; k < numbers.size(); ++k) properties[k].numbers.push_back(numbers[k]);
    }
    const std::vector<LayerValues> layers = layer_values(seen.cells);
    states.resize(layers.size());
    for (size_t k = 0; k < layers.size(); ++k)
      states[k].push_back(state_of(layers[k]).slice(0, window.steps()));
  }
  std::vector<Tensor> of_layers;
  for (const Vars& of_windows : states) of_layers.push_back(concat(of_windows, 0).value());
  return units_to_offer(of_layers, properties,
                        fmt::format("of {} steps in {} windows of the file", count * window.steps(), count));
}

}  // namespace timeseries
