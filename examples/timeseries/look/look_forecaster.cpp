#include "examples/timeseries/look/look_forecaster.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "examples/timeseries/pretrained/model_file.h"
#include "examples/timeseries/pretrained/pretrained.h"
#include "framework/check.h"
#include "framework/ops.h"
#include "framework/signals.h"
#include "framework/tape_graph.h"
#include "training/files/json/json.h"
#include "training/program/look/look_values.h"
#include "training/report/run_description.h"

namespace timeseries {

namespace {

using Json = nlohmann::ordered_json;

constexpr double moved_by = 0.02;  // of the series' scale

// The values that the network reads, from the first observed one on.
std::vector<float> values_before(const LookedForecast& looked) {
  const Series& series = looked.series;
  const int64_t begin =
      std::max(series.begin_of(series.member_of(looked.origin)), looked.origin - most_context);
  std::vector<float> values;
  for (int64_t row = begin; row < looked.origin; ++row)
    if (!series.is_filled(row, looked.channel))
      values.push_back(static_cast<float>(series.at(row, looked.channel)));
    else if (!values.empty())
      values.push_back(std::numeric_limits<float>::quiet_NaN());
  return values;
}

// [steps, rows]: of the median, by each value; 0 where none is observed.
Tensor slopes(const std::vector<float>& values, const LookedForecast& looked, double scale) {
  const auto rows = static_cast<int>(values.size()), steps = static_cast<int>(looked.steps);
  const auto by = static_cast<float>(moved_by * scale);
  std::vector<std::vector<float>> moved;
  std::vector<double> apart;  // each pair of values, as they were rounded
  for (const float& value : values) {
    if (std::isnan(value)) continue;
    const auto at = static_cast<size_t>(&value - values.data());
    for (const float sign : {1.0f, -1.0f}) moved.push_back(values), moved.back()[at] += sign * by;
    apart.push_back(static_cast<double>(moved[moved.size() - 2][at]) - moved.back()[at]);
  }
  std::vector<PretrainedInput> inputs;
  for (const std::vector<float>& series : moved) inputs.push_back({series, looked.season});
  const auto found = PretrainedForecaster::bundled().forecast(inputs, looked.steps);
  std::vector<real> slopes(static_cast<size_t>(rows * steps));
  for (size_t row = 0, pair = 0; row < values.size(); ++row) {
    if (std::isnan(values[row])) continue;
    for (size_t step = 0; step < static_cast<size_t>(steps); ++step)
      slopes[step * values.size() + row] = static_cast<real>(
          (found[2 * pair][step][median_level] - found[2 * pair + 1][step][median_level]) / apart[pair]);
    ++pair;
  }
  return Tensor::from({steps, rows}, slopes);
}

// The operations of the whole network, backwards from each step's median.
std::vector<TapeGraph> tapes_of(PretrainedNetwork& network, const ForecastBatch& batch, int64_t steps) {
  std::vector<TapeGraph> tapes;
  for (int step = 0; step < steps; ++step) {
    stop_if_signalled();
    Tape tape({.dropout = false, .observer = &tapes.emplace_back()});
    const Var segment = row(network(batch)[median_level], step / segment_rows);
    tape.backward(sum(slice(segment, 1, step % segment_rows, step % segment_rows + 1)));
    network.params.spend_gradients();
  }
  return tapes;
}

Json series_json(const LookedForecast& looked, const std::vector<float>& values, const Tensor& gradients) {
  const Series& series = looked.series;
  const int64_t first = looked.origin - std::ssize(values);
  const auto value = [&](int64_t row) {
    const bool is_known = row < looked.rows && !series.is_filled(row, looked.channel);
    return is_known ? number_or_null<Json>(series.at(row, looked.channel)) : Json();
  };
  const std::string& name = series.channels[static_cast<size_t>(looked.channel)];
  Json json{{"target", name}, {"detects", false}, {"channels", {name}}};
  for (int64_t row = first; row < looked.origin; ++row)
    json["rows"].push_back(series.times.text(row)), json["values"].push_back(value(row));
  json["history"] = json["values"];
  const auto quantiles = PretrainedForecaster::bundled().forecast(values, looked.season, looked.steps);
  for (int64_t step = 0; step < looked.steps; ++step) {
    const std::vector<float>& levels = quantiles[static_cast<size_t>(step)];
    json["times"].push_back(series.times.text(looked.origin + step));
    json["truth"].push_back(value(looked.origin + step)), json["shown"].push_back(step);
    json["forecast"].push_back(levels[median_level]);
    json["low"].push_back(levels.front()), json["high"].push_back(levels.back());
  }
  json["segment"] = 1;
  json["gradients"] = sixteen_bit_json(gradients);
  return json;
}

}  // namespace

std::string look_json(const LookedForecast& looked, const std::string& title, const std::string& path) {
  require(looked.origin <= looked.rows, "look: row {} is to be forecast, and the file has {}", looked.origin,
          looked.rows);
  require_input(looked.steps <= most_ahead,
                "look: {} rows are forecast, and a page of this network has {} at most (data.horizon)",
                looked.steps, most_ahead);
  const std::vector<float> values = values_before(looked);
  ForecastBatch batch(std::max(segments_of(std::ssize(values)), 1), segments_of(looked.steps), 1);
  require_input(
      !values.empty() && batch.put(0, values, looked.season),
      "look: of the values before {} there are fewer than 3, or all are alike: the forecast rests on none",
      looked.series.times.text(looked.origin));
  const auto network = read_forecaster(bundled_forecaster());
  const std::string layers = describe_layers(facts_of(network->layers.cell().kind), network->layers.config());
  const Json series = series_json(looked, values, slopes(values, looked, batch.scale[0]));
  return json_text(Json{
      {"kind", "series"},
      {"title", title},
      {"summary",
       fmt::format(
           "{} over segments of {} rows, trained on synthetic series alone; reads {} rows, forecasts {}; {} "
           "parameters",
           layers, segment_rows, values.size(), looked.steps, with_commas(network->params.count()))},
      {"made", fmt::format("timeseries look {}", path)},
      {"cell", ""},
      {"made_of", layers},
      {"no_layers",
       "The network that ships with the program has never read this series. Each step of its layers reads eight "
       "rows; their units are not shown."},
      {"start", 0},
      {"input", series["rows"]},
      {"target", series["times"]},
      {"layers", Json::array()},
      {"reach", Json::object()},
      {"untrained", Json::object()},
      {"reached", std::vector<size_t>(static_cast<size_t>(looked.steps), values.size())},
      {"series", series},
      {"tape", tape_json(tapes_of(*network, batch, looked.steps))},
      {"offered", Json::array()}});
}

}  // namespace timeseries
