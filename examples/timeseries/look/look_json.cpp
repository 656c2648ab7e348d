// Writes the numbers of `timeseries look` as the JSON that its page reads.
#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "examples/timeseries/look/look_numbers.h"
#include "examples/timeseries/pretrained/network.h"
#include "examples/timeseries/pretrained/pretrained.h"
#include "framework/ops.h"
#include "framework/signals.h"
#include "training/files/json/json.h"
#include "training/report/run_description.h"

namespace timeseries {

namespace {

using Json = nlohmann::ordered_json;

// "LSTM, 1 layer of 32; reads 12 rows of 1 channel, forecasts 1 row; 4,513 parameters"
std::string summary_of(const LookedWindow& window) {
  const auto count = [](auto n, const char* what) {
    return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
  };
  std::string made_of = describe_layers(window.recipe());
  made_of[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(made_of[0])));
  return fmt::format("{}; reads {} of {}, {}; {} parameters", made_of, count(window.window(), "row"),
                     count(window.inputs().size(), "channel"),
                     window.detects() ? "detects " + window.recipe().data.label
                                      : "forecasts " + count(window.horizon(), "row"),
                     with_commas(window.model().params.count()));
}

Json reach_json(const OutputReach& reach) {
  Json json = Json::object();
  for (const Tensor& h : reach.h) json["h"].push_back(norms_json(h));
  for (const Tensor& c : reach.c) json["c"].push_back(norms_json(c));
  return json;
}

// Names each step by the time it read: a row, or a segment's last row.
Json step_names(const LookedWindow& window) {
  const Times& times = window.series().times;
  Json names = Json::array();
  const int segment = window.recipe().model.segment;
  for (int step = 0; step < window.steps(); ++step)
    names.push_back(times.text(window.first_read() + int64_t{step + 1} * segment - 1));
  return names;
}

Json series_json(const LookedWindow& window, const LookedSeries& look) {
  const Series& series = window.series();
  const auto value = [&](int64_t row, int channel) {
    return window.is_known(row, channel) ? number_or_null<Json>(series.at(row, channel)) : Json();
  };
  Json rows = Json::array(), channels = Json::array(), values = Json::array(), history = Json::array(),
       times = Json::array(), truth = Json::array();
  for (const int input : window.inputs()) channels.push_back(series.channels[input]);
  for (int64_t row = window.first_read(); row < window.first_read() + window.window(); ++row) {
    rows.push_back(series.times.text(row));
    history.push_back(value(row, window.channel()));
    for (const int input : window.inputs()) values.push_back(value(row, input));
  }
  for (int64_t row = window.origin(); row < window.origin() + window.horizon(); ++row) {
    times.push_back(series.times.text(row));
    truth.push_back(value(row, window.channel()));
  }
  const auto forecast = window.forecast();
  Json json{{"target", window.target_name()},
            {"detects", window.detects()},
            {"rows", rows},
            {"channels", channels},
            {"values", values},
            {"history", history},
            {"times", times},
            {"truth", truth},
            {"forecast", forecast[static_cast<size_t>(window.recipe().middle_output())]},
            {"shown", look.shown},
            {"segment", window.recipe().model.segment},
            {"gradients", sixteen_bit_json(look.reach.input)}};
  if (forecast.size() > 1) json["low"] = forecast.front(), json["high"] = forecast.back();
  return json;
}

}  // namespace

std::string look_json(const LookedWindow& window, const LookedSeries& look, const std::string& title,
                      const std::string& path) {
  const Recipe& recipe = window.recipe();
  const std::vector<std::string> gates(look.gate_names.begin(), look.gate_names.end());
  Json target = Json::array(), layers = Json::array(), reached = Json::array();
  for (const int step : look.shown) {
    target.push_back(window.series().times.text(window.origin() + step));
    reached.push_back(window.steps());
  }
  for (const LayerValues& layer : look.layers) layers.push_back(layer_json(layer, gates));
  Json json{{"kind", "series"},
            {"title", title},
            {"summary", summary_of(window)},
            {"made", fmt::format("timeseries look {}", path)},
            {"cell", window.model().recurrent() ? cell_of(recipe).name : ""},
            {"made_of", describe_layers(recipe)},
            {"start", 0},
            {"input", step_names(window)},
            {"target", target},
            {"layers", layers},
            {"reach", reach_json(look.reach)},
            {"untrained", reach_json(look.untrained)},
            {"reached", reached},
            {"series", series_json(window, look)},
            {"tape", tape_json(look.tapes)},
            {"offered", offered_json(look.offered)}};
  return json_text(json);
}

// --- a forecast of the network that ships with the program -------------------------------------------------

namespace {

constexpr double moved_by = 0.02;  // of the series' scale

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
  const Series& rows = looked.series;
  const std::vector<float> values =
      values_before(rows, rows.begin_of(rows.member_of(looked.origin)), looked.origin, looked.channel);
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
