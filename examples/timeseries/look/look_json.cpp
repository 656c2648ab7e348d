// Writes the numbers of `timeseries look` as the JSON that its page reads.
#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "examples/timeseries/look/look_numbers.h"
#include "examples/timeseries/pretrained/model_file.h"
#include "examples/timeseries/pretrained/pretrained.h"
#include "examples/timeseries/series/bounds.h"
#include "framework/one_line.h"
#include "framework/ops.h"
#include "framework/signals.h"
#include "training/files/json/json.h"
#include "training/report/run_description.h"

namespace timeseries {

namespace {

using Json = nlohmann::ordered_json;

// The rows `read` of the channels `inputs`, and the rows `ahead` that a forecast of `channel` is of. is_known(row, channel): the
// file has a value there. forecast: [outputs][steps], the middle one of which is drawn as a line.
Json series_json(const Series& series, const std::vector<int>& inputs, int channel, const Span& read,
                 const Span& ahead, const auto& is_known, const std::vector<std::vector<double>>& forecast,
                 int middle) {
  const auto value = [&](int64_t row, int of) {
    return is_known(row, of) ? number_or_null<Json>(series.at(row, of)) : Json();
  };
  Json json{{"target", series.channels[channel]}};
  for (const int input : inputs) json["channels"].push_back(series.channels[input]);
  for (int64_t row = read.begin; row < read.end; ++row) {
    json["rows"].push_back(series.times.text(row)), json["history"].push_back(value(row, channel));
    for (const int input : inputs) json["values"].push_back(value(row, input));
  }
  for (int64_t row = ahead.begin; row < ahead.end; ++row)
    json["times"].push_back(series.times.text(row)), json["truth"].push_back(value(row, channel));
  json["forecast"] = forecast[middle];
  if (forecast.size() > 1) json["low"] = forecast.front(), json["high"] = forecast.back();
  return json;
}

// The page without what a model has inside. `input`: a name for each step that reads the rows.
Json page_json(const std::string& title, const std::string& path, const std::string& layers,
               const std::string& summary, const Json& series, const std::vector<std::string>& input) {
  Json json{{"kind", "series"},
            {"title", title},
            {"summary", summary},
            {"made", fmt::format("timeseries look {}", path)},
            {"cell", ""},
            {"made_of", layers},
            {"start", 0},
            {"input", input},
            {"layers", Json::array()},
            {"reach", Json::object()},
            {"untrained", Json::object()},
            {"series", series},
            {"offered", Json::array()}};
  for (const int step : series["shown"])
    json["target"].push_back(series["times"][step]), json["reached"].push_back(input.size());
  return json;
}

// "LSTM, 1 layer of 32; reads 12 rows of 1 channel, forecasts 1 row; 4,513 parameters"
std::string summary_of(const LookedWindow& window) {
  const auto count = [](auto n, const char* what) { return fmt::format("{} {}{}", n, what, plural(n)); };
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
std::vector<std::string> step_names(const LookedWindow& window) {
  std::vector<std::string> names;
  const int segment = window.recipe().model.segment;
  for (int step = 0; step < window.steps(); ++step)
    names.push_back(window.series().times.text(window.first_read() + int64_t{step + 1} * segment - 1));
  return names;
}

}  // namespace

std::string look_json(const LookedWindow& window, const LookedSeries& look, const std::string& title,
                      const std::string& path) {
  const Recipe& recipe = window.recipe();
  const int64_t origin = window.origin();
  Json series = series_json(
      window.series(), window.inputs(), window.channel(),
      {window.first_read(), window.first_read() + window.window()}, {origin, origin + window.horizon()},
      [&](int64_t row, int channel) { return window.is_known(row, channel); }, window.forecast(),
      recipe.middle_output());
  series["detects"] = window.detects(), series["segment"] = recipe.model.segment;
  series["shown"] = look.shown, series["gradients"] = sixteen_bit_json(look.reach.input);
  Json json = page_json(title, path, describe_layers(recipe), summary_of(window), series, step_names(window));
  const std::vector<std::string> gates(look.gate_names.begin(), look.gate_names.end());
  if (window.model().recurrent()) json["cell"] = cell_of(recipe).name;
  for (const LayerValues& layer : look.layers) json["layers"].push_back(layer_json(layer, gates));
  json["reach"] = reach_json(look.reach), json["untrained"] = reach_json(look.untrained);
  json["tape"] = tape_json(look.tapes), json["offered"] = offered_json(look.offered);
  return json_text(json);
}

// --- a forecast of the network that ships with the program -------------------------------------------------

namespace {

constexpr double moved_by = 0.02;  // of the series' scale

// [steps, rows]: of the median, by each value; 0 where none is observed.
Tensor slopes(const std::vector<double>& values, const LookedForecast& looked, double scale) {
  const auto rows = static_cast<int>(values.size()), steps = static_cast<int>(looked.steps);
  std::vector<std::vector<double>> moved;
  std::vector<double> apart;  // each pair of values, as they were rounded
  for (const double& value : values) {
    if (std::isnan(value)) continue;
    const auto at = static_cast<size_t>(&value - values.data());
    for (const double by : {moved_by, -moved_by}) moved.push_back(values), moved.back()[at] += by * scale;
    apart.push_back(moved[moved.size() - 2][at] - moved.back()[at]);
  }
  std::vector<PretrainedInput> inputs;
  for (const std::vector<double>& series : moved) inputs.push_back({series, looked.season});
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

}  // namespace

std::string look_json(const LookedForecast& looked, const std::string& title, const std::string& path) {
  require(looked.origin <= looked.rows, "look: row {} is to be forecast, and the file has {}", looked.origin,
          looked.rows);
  require_input(looked.steps <= most_ahead,
                "look: {} rows are forecast, and a page of this network has {} at most (data.horizon)",
                looked.steps, most_ahead);
  const Series& rows = looked.series;
  const std::vector<double> values =
      values_before(rows, rows.begin_of(rows.member_of(looked.origin)), looked.origin, looked.channel);
  ForecastBatch batch(std::max(segments_of(std::ssize(values)), 1), segments_of(looked.steps), 1);
  require_input(
      !values.empty() && batch.put(0, values, looked.season),
      "look: of the values before {} there are fewer than 3, or all are alike: the forecast rests on none",
      looked.series.times.text(looked.origin));
  const auto network = read_forecaster(bundled_forecaster());
  const auto levels = PretrainedForecaster::bundled().forecast(values, looked.season, looked.steps);
  const Bound bound = SeriesBounds(rows, {looked.channel}, {.asked = looked.bounds}).at(looked.origin, 0);
  std::vector<std::vector<double>> forecast(forecast_levels.size());  // [levels][steps]
  for (const std::vector<double>& step : levels)
    for (size_t k = 0; k < step.size(); ++k) forecast[k].push_back(bound.clamp(step[k]));
  const int64_t origin = looked.origin;
  Json series = series_json(
      rows, {looked.channel}, looked.channel, {origin - std::ssize(values), origin},
      {origin, origin + looked.steps},
      [&](int64_t row, int channel) { return row < looked.rows && !rows.is_filled(row, channel); }, forecast,
      median_level);
  series["detects"] = false, series["segment"] = 1;
  for (int64_t step = 0; step < looked.steps; ++step) series["shown"].push_back(step);
  series["gradients"] = sixteen_bit_json(slopes(values, looked, batch.scale[0]));
  const std::string layers = describe_layers(facts_of(network->layers.cell().kind), network->layers.config());
  Json json = page_json(
      title, path, layers,
      fmt::format(
          "{} over segments of {} rows, trained on synthetic series alone; reads {} rows, forecasts {}; {} "
          "parameters",
          layers, segment_rows, values.size(), looked.steps, with_commas(network->params.count())),
      series, series["rows"]);
  json["no_layers"] =
      "The network that ships with the program has never read this series. Each step of its layers reads eight "
      "rows; their units are not shown.";
  json["tape"] = tape_json(tapes_of(*network, batch, looked.steps));
  return json_text(json);
}

}  // namespace timeseries
