#include "examples/timeseries/commands/forecast_output.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <unordered_set>

#include "data/csv.h"
#include "examples/timeseries/scores/scores.h"
#include "framework/check.h"
#include "framework/nearest.h"
#include "framework/one_line.h"
#include "training/files/json/json.h"

namespace timeseries {

namespace {

// A value to six digits of its channel's scale, about what a float32 model resolves, and at least six of its own:
// 123456789.12345 at a deviation of 3.
std::string number(double value, double scale) {
  if (std::isnan(value)) return "";  // no interval
  const auto place = [](double x) { return static_cast<int>(std::floor(std::log10(std::abs(x)))); };
  const int above = value == 0 || !std::isfinite(value) ? 0 : place(value) - place(scale);
  const int digits = 6 + std::clamp(above, 0, 9);  // a double holds 15
  const double size = std::abs(value);             // 12297114, not 1.229711e+07
  return size >= 1e6 && size < 1e15 && place(value) >= digits ? fmt::format("{:.0f}", value)
                                                              : fmt::format("{:.{}g}", value, digits);
}

// Names are unique: targets keep theirs,
// and each other column takes the first free name of its choices. `names`: the first column names the series.
std::string header_of(const Series& series, const std::vector<int>& targets, bool interval, bool names) {
  std::unordered_set<std::string> taken;
  if (names) taken.insert(series.id_name);
  for (const int target : targets) taken.insert(series.channels[target]);
  const auto free_name = [&](std::initializer_list<std::string> choices) {
    for (const std::string& name : choices)
      if (!name.empty() && taken.insert(name).second) return name;
    std::string name = *std::rbegin(choices);
    while (!taken.insert(name).second) name += '_';
    return name;
  };
  std::string text = names ? csv_cell(series.id_name) + "," : "";
  text += csv_cell(free_name({"time", series.time_name, "row"}));
  for (const int target : targets) {
    const std::string& name = series.channels[target];
    text += "," + csv_cell(name);
    for (const char* end : {"low", "high"})
      if (interval) text += "," + csv_cell(free_name({name + "_" + end, name + "_interval_" + end}));
  }
  return text;
}

}  // namespace

ForecastOutput::ForecastOutput(const Series& of, std::vector<int> channels, int64_t count,
                               const std::string& only)
    : series(of), targets(std::move(channels)), steps(count), names(!of.members.empty() && only.empty()) {}

std::string ForecastOutput::csv() const {
  const bool interval =
      std::ranges::any_of(all, [](const Forecast& forecast) { return !forecast.low.empty(); });
  std::string text = header_of(series, targets, interval, names) + "\n";
  for (const Forecast& forecast : all)
    for (int64_t step = 0; step < steps; ++step) {
      if (names) text += csv_cell(series.name_of(series.member_of(forecast.origin))) + ",";
      text += series.times.text(forecast.origin + step);
      for (size_t t = 0; t < targets.size(); ++t) {
        const size_t at = step * targets.size() + t;
        text += "," + number(forecast.values[at], forecast.scale[t]);
        for (const auto* end : {&forecast.low, &forecast.high})
          if (interval) text += "," + (end->empty() ? "" : number((*end)[at], forecast.scale[t]));
      }
      text += '\n';
    }
  return text;
}

nlohmann::ordered_json ForecastOutput::json() const {
  using Json = nlohmann::ordered_json;
  Json found = Json::array();
  for (const Forecast& forecast : all) {
    Json& json = found.emplace_back(Json::object());
    if (!series.members.empty()) json["series"] = series.name_of(series.member_of(forecast.origin));
    for (int64_t step = 0; step < steps; ++step)
      json["time"].push_back(series.times.text(forecast.origin + step));
    for (size_t t = 0; t < targets.size(); ++t) {
      Json& of = json["forecast"][series.channels[targets[t]]];
      for (const auto& [key, values] :
           {std::pair{"values", &forecast.values}, {"low", &forecast.low}, {"high", &forecast.high}})
        for (size_t i = t; i < values->size(); i += targets.size())
          of[key].push_back(number_or_null<Json>((*values)[i]));
      if (!forecast.facts.empty()) of.update(forecast.facts[t]);
    }
    json["interval"] = forecast.interval;
  }
  return found;
}

Chart ForecastOutput::chart(size_t target) const {
  const Forecast& forecast = all.front();
  const int member = series.member_of(forecast.origin);
  const int64_t first = std::max(series.begin_of(member), forecast.origin - std::max<int64_t>(2 * steps, 48));
  Chart chart = chart_of_forecasts(series, targets, target, first, forecast.origin, {forecast},
                                   forecast.low.empty() ? "" : "interval");
  const std::string name = series.name_of(member);
  chart.title = "Forecast of " + (name.empty() ? "" : name + ": ") + chart.y_name;
  chart.description = forecast.interval;
  return chart;
}

std::vector<std::string> ForecastOutput::warnings() const {
  std::vector<std::string> texts;
  for (const Forecast& forecast : all) {
    if (!forecast.warning) continue;
    const std::string name = series.name_of(series.member_of(forecast.origin));
    texts.push_back((series.members.empty() ? "" : fmt::format("series '{}': ", one_line(name))) +
                    *forecast.warning);
  }
  return texts;
}

int series_named(const Series& series, const std::string& name, const std::string& where) {
  std::vector<std::string> names;
  for (const SeriesMember& member : series.members) names.push_back(member.name);
  const auto found = std::ranges::find(names, name);
  require_input(found != names.end(), "{} has no series '{}'{}", where, one_line(name),
                which_was_meant(name, names));
  return static_cast<int>(found - names.begin());
}

}  // namespace timeseries
