#include "examples/timeseries/ensemble/ensemble.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "framework/check.h"

namespace timeseries {

using Json = nlohmann::ordered_json;

// --- in a file ---------------------------------------------------------------------------------------------

// Rounds to six digits, more than an interval needs.
static Json rounded(const std::vector<double>& values) {
  Json json = Json::array();
  for (const double value : values)
    json.push_back(std::isfinite(value) ? Json(std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr))
                                        : Json());
  return json;
}

static std::vector<double> numbers(const Json& json) {
  std::vector<double> values;
  for (const Json& value : json) values.push_back(value.is_null() ? std::nan("") : value.get<double>());
  return values;
}

Json json_of(const EnsembleFacts& facts) {
  Json json{{"members", Json::array()},
            {"from", facts.from},
            {"to", facts.to},
            {"windows", facts.windows},
            {"within", facts.within},
            {"counted", facts.counted},
            {"scaled_mse", rounded(facts.scaled_mse)},
            {"fold_errors", Json::object()}};
  for (const auto& [name, weights, mse] : facts.members)
    json["members"].push_back({{"name", name}, {"weights", weights}, {"scaled_mse", rounded(mse)}});
  for (const auto& [name, windows] : facts.errors) {
    json["fold_errors"][name] = Json::array();
    for (const auto& window : windows) json["fold_errors"][name].push_back(rounded(window));
  }
  return json;
}

EnsembleFacts ensemble_facts(const Json& json) {
  EnsembleFacts facts{.from = json.at("from"),
                      .to = json.at("to"),
                      .windows = json.at("windows"),
                      .scaled_mse = numbers(json.at("scaled_mse")),
                      .within = json.at("within"),
                      .counted = json.at("counted")};
  for (const Json& member : json.at("members"))
    facts.members.push_back(
        {member.at("name"), numbers(member.at("weights")), numbers(member.at("scaled_mse"))});
  // Files of an earlier version have other units. Their intervals begin with the errors of the test.
  const Json errors = json.value("fold_errors", Json::object());
  for (const auto& [name, windows] : errors.items())
    for (const Json& window : windows) facts.errors[name].push_back(numbers(window));
  return facts;
}

// --- words -------------------------------------------------------------------------------------------------

double mean_over_targets(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v / static_cast<double>(values.size());
  return sum;
}

EnsembleFacts equal_members(const Recipe& recipe, size_t targets) {
  const std::vector<double> unknown(targets, std::nan(""));
  const std::vector<EnsembleWord> words = ensemble_words(recipe);
  EnsembleFacts facts{.scaled_mse = unknown};
  for (const EnsembleWord& word : words)
    facts.members.push_back(
        {name_of(word), std::vector<double>(targets, 1 / static_cast<double>(words.size())), unknown});
  return facts;
}

bool know_folds(ForecastInterval& interval, const EnsembleFacts& facts, const std::string& name, bool chose) {
  const auto found = facts.errors.find(name);
  if (found == facts.errors.end() || found->second.empty()) return false;
  const size_t values = static_cast<size_t>(interval.widths.options().steps) * facts.scaled_mse.size();
  if (found->second.front().size() < values) return false;
  for (const auto& window : found->second) interval.widths.know(std::span(window).first(values), chose);
  return true;
}

bool know_steps_together(ForecastInterval& interval, const EnsembleFacts& facts) {
  const auto found = facts.errors.find("the model");
  if (found == facts.errors.end() || found->second.empty()) return false;
  const size_t targets = facts.scaled_mse.size(), steps = found->second.front().size() / targets;
  const auto asked = static_cast<size_t>(interval.widths.options().steps);
  std::vector<double> errors(asked * targets);
  for (const auto& window : found->second)
    for (size_t step = 0; step < steps; ++step) {
      for (size_t i = 0; i < errors.size(); ++i)
        errors[i] =
            window[step * targets + i % targets] *
            std::sqrt(std::max(1.0, static_cast<double>(i / targets + 1) / static_cast<double>(steps)));
      interval.widths.know(errors, true);
    }
  interval.errors_of = fmt::format("single steps, 1 to {} ahead, in the folds", steps);
  if (asked > steps) interval.errors_of += ", wider with the root of the steps beyond";
  return interval.widths.is_known();
}

// --- forecasts ---------------------------------------------------------------------------------------------

Ensemble::Ensemble(const Recipe& recipe, const SeriesModel& model, const EnsembleFacts& facts,
                   const Series& series, const Part& train, const std::vector<int>& targets)
    : recipe_(&recipe), model_(&model), targets_(targets) {
  const std::vector<EnsembleWord> words = ensemble_words(recipe);
  require_input(facts.members.size() == words.size(), "{}: {} members in its recipe, weights of {}",
                recipe.name, words.size(), facts.members.size());
  int network = 0;
  for (size_t m = 0; m < words.size(); ++m) {
    const bool is_network = words[m].network != nullptr;
    Member member{.name = facts.members[m].name,
                  .network = is_network ? network++ : -1,
                  .weights = facts.members[m].weights};
    require_input(member.weights.size() == targets.size(), "{}: weights of {} targets, and it forecasts {}",
                  recipe.name, member.weights.size(), targets.size());
    if (std::ranges::all_of(member.weights, [](double w) { return w == 0; })) continue;
    if (!is_network)
      member.baseline =
          baseline_row(words[m].name)->make({recipe.data, series, train.back().end, train, targets});
    members_.push_back(std::move(member));
  }
}

int64_t Ensemble::history() const {
  int64_t rows = 0;
  for (const Member& member : members_)
    if (member.baseline) rows = std::max<int64_t>(rows, member.baseline->history);
  return rows;
}

std::vector<double> Ensemble::forecast(
    const Series& series, int64_t origin, int steps,
    const std::function<std::vector<double>(size_t network)>& network) const {
  const size_t width = targets_.size();
  std::vector<double> sum(static_cast<size_t>(steps) * width), values(sum.size()), all(width),
      of_target(static_cast<size_t>(steps));
  bool is_whole = true;
  for (const Member& member : members_) {
    if (member.network >= 0) {
      values = network(static_cast<size_t>(member.network));
    } else if (!member.baseline || origin < member.baseline->history) {
      unfitted_.insert(member.name), is_whole = false;
      continue;
    } else {
      for (size_t t = 0; t < width; ++t) {
        member.baseline->forecast(series, origin, targets_[t], of_target);
        for (size_t k = 0; k < of_target.size(); ++k) values[k * width + t] = of_target[k];
      }
    }
    if (so_far_.is_left_by(values, series, origin, targets_)) {
      exploded_.insert(member.name), is_whole = false;
      continue;
    }
    for (size_t t = 0; t < width; ++t) all[t] += member.weights[t];
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += member.weights[i % width] * values[i];
  }
  if (is_whole) return sum;
  for (size_t i = 0; i < sum.size(); ++i)
    sum[i] = all[i % width] > 0 ? sum[i] / all[i % width] : series.at(origin - 1, targets_[i % width]);
  took_last_value_ = took_last_value_ || std::ranges::min(all) <= 0;
  return sum;
}

std::optional<std::string> Ensemble::left_out() const {
  std::vector<std::string> why;
  if (!exploded_.empty())
    why.push_back(
        fmt::format("{} (far outside of all that the series has been)", fmt::join(exploded_, ", ")));
  if (!unfitted_.empty())
    why.push_back(
        fmt::format("{} (the rows are too few for it, or not above 0)", fmt::join(unfitted_, ", ")));
  if (why.empty()) return {};
  return fmt::format("left out of the ensemble's forecast: {}; {}", fmt::join(why, "; "),
                     took_last_value_ ? "where no other has a weight, the last value is forecast"
                                      : "the others share the weight");
}

Forecasts Ensemble::forecasts() const {
  return [this](SeriesWindows& windows, const ForecastUse& use) {
    std::map<int64_t, std::vector<std::vector<double>>> of_networks;  // by origin, then network
    for (const Member& member : members_) {
      if (member.network < 0) continue;
      forecasts_of(*recipe_, *model_, static_cast<size_t>(member.network))(
          windows, [&](WindowForecast& forecast) {
            auto& of = of_networks[forecast.origin];
            of.resize(model_->networks());
            of[static_cast<size_t>(member.network)] = std::move(forecast.values);
          });
    }
    windows.in_order();
    for (const int64_t origin : windows.origins()) {
      const std::vector<double> values =
          forecast(windows.series(), origin, windows.options().horizon,
                   [&](size_t network) { return of_networks.at(origin)[network]; });
      WindowForecast found{origin, values, values, values};
      use(found);
    }
    return true;
  };
}

}  // namespace timeseries
