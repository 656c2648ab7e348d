// Finds units that follow properties of the rows read, and the best unit for each property.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "examples/timeseries/look/look_numbers.h"
#include "framework/ops.h"

namespace timeseries {

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

struct Properties {
  UnitProperty value, change, before, level, position;
};

// Adds the properties after each step of a window. `z`: its rows as the layers read them.
void add(Properties& to, const LookedWindow& window, const std::vector<double>& z, int period) {
  const int segment = window.recipe().model.segment;
  for (int step = 0; step < window.steps(); ++step) {
    const int t = (step + 1) * segment - 1;  // the last row read
    const auto at = [&](int row) { return row < 0 ? none : z[row]; };
    to.value.numbers.push_back(at(t));
    to.change.numbers.push_back(at(t) - at(t - 1));
    to.before.numbers.push_back(at(t - period + 1));
    double sum = 0;
    for (int row = t - period + 1; row <= t; ++row) sum += at(row);
    to.level.numbers.push_back(sum / period);
    to.position.numbers.push_back(step);
  }
}

}  // namespace

std::vector<OfferedUnit> offer_units(const LookedWindow& window) {
  const SeriesModel& model = window.model();
  if (!model.recurrent()) return {};
  const NetworkPlan& plan = model.network().plan();
  constexpr int64_t most_windows = 40, most_steps = 4000;
  const int64_t origins = window.end_of_origins() - window.first_origin();
  const int64_t count = std::min(origins, std::clamp<int64_t>(most_steps / window.steps(), 1, most_windows));
  const bool sees_period = window.recipe().data.period > 1 && window.recipe().data.period < window.window();
  const int period = sees_period ? static_cast<int>(window.recipe().data.period) : 1;
  const int column = plan.feature_of(window.target());
  const std::string name = window.series().channels[window.inputs()[plan.input_of(window.target())]];
  Properties properties{{"the " + name + " just read"},
                        {"its change from the row before"},
                        {fmt::format("{} of {} rows before the one to come", name, period)},
                        {fmt::format("its mean of {} rows", period)},
                        {"position in the window"}};
  const NoTape values_alone;
  std::vector<std::vector<real>> states;  // by layer: [cases, units]
  std::vector<int> units;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t origin =
        window.first_origin() + (count == 1 ? origins - 1 : i * (origins - 1) / (count - 1));
    const Trace seen = trace(model.network(), window.input(origin), window.target());
    const auto read = seen.read.value().to_host();  // [window, 1, features]
    const auto features = static_cast<size_t>(seen.read.dim(2));
    std::vector<double> z;
    for (size_t t = 0; t < static_cast<size_t>(window.window()); ++t)
      z.push_back(read[t * features + static_cast<size_t>(column)]);
    add(properties, window, z, period);
    const std::vector<LayerValues> layers = layer_values(seen.cells);
    states.resize(layers.size()), units.resize(layers.size());
    for (size_t k = 0; k < layers.size(); ++k) {
      const auto values = state_of(layers[k]).slice(0, window.steps()).to_host();
      states[k].insert(states[k].end(), values.begin(), values.end());
      units[k] = state_of(layers[k]).dim(1);
    }
  }
  std::vector<Tensor> tensors;
  for (size_t k = 0; k < states.size(); ++k)
    tensors.push_back(Tensor::from({static_cast<int>(count) * window.steps(), units[k]}, states[k]));
  std::vector<UnitProperty> asked{properties.value, properties.change};
  if (sees_period) asked.push_back(properties.before), asked.push_back(properties.level);
  asked.push_back(properties.position);
  return units_to_offer(tensors, asked,
                        fmt::format("of {} steps in {} windows of the file", count * window.steps(), count));
}

}  // namespace timeseries
