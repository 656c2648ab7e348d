// Writes the numbers of `timeseries look` as the JSON that its page reads.
#include <cctype>

#include <fmt/format.h>

#include "examples/timeseries/look/look_numbers.h"
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

}  // namespace timeseries
