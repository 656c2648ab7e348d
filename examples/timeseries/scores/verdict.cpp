#include "examples/timeseries/scores/verdict.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "training/report/progress.h"

namespace timeseries {

namespace {

using Measure = Comparison::Measure;

// Whether both the model and some baseline have this score.
bool is_compared(const Measure& measure) {
  size_t defined = 0;
  for (const double value : measure.values) defined += !std::isnan(value);
  return !std::isnan(measure.values[0]) && defined > 1;
}

// The baselines that are as good as the model or better.
std::vector<size_t> not_beaten(const Measure& measure) {
  std::vector<size_t> found;
  const double model = measure.values[0];
  for (size_t k = 1; k < measure.values.size(); ++k) {
    const double baseline = measure.values[k];
    const bool beaten = measure.less_is_better ? model < baseline : model > baseline;
    if (!std::isnan(baseline) && !beaten) found.push_back(k - 1);
  }
  return found;
}

size_t best_baseline(const Measure& measure) {
  const auto score = [&](size_t k) { return (measure.less_is_better ? 1 : -1) * measure.values[k + 1]; };
  return std::ranges::min(not_beaten(measure), {}, score);
}

// Groups the lost measures by the baseline that is best: "last value has RMSE 15.60 (the model 17.20), MAE 9.100
// (9.800); mean of training has MASE 0.8100 (0.9000)"
std::string what_is_better(const Comparison& comparison, const std::vector<const Measure*>& lost) {
  std::vector<std::string> groups;
  for (size_t k = 0; k < comparison.baselines.size(); ++k) {
    std::vector<std::string> scores;
    for (const Measure* measure : lost)
      if (best_baseline(*measure) == k)
        scores.push_back(fmt::format("{} {} ({}{})", measure->name, figure(measure->values[k + 1]),
                                     groups.empty() && scores.empty() ? "the model " : "",
                                     figure(measure->values[0])));
    if (!scores.empty())
      groups.push_back(fmt::format("{} has {}", comparison.baselines[k], fmt::join(scores, ", ")));
  }
  return fmt::format("{}", fmt::join(groups, "; "));
}

struct Sorted {
  std::vector<const Measure*> won, lost, not_compared;
};
Sorted sorted(const Comparison& comparison) {
  Sorted result;
  for (const Measure& measure : comparison.measures)
    (!is_compared(measure)         ? result.not_compared
     : not_beaten(measure).empty() ? result.won
                                   : result.lost)
        .push_back(&measure);
  return result;
}

}  // namespace

std::string figure(double value) { return std::isnan(value) ? "" : unroll::format_score(value); }

std::vector<std::string> verdicts(const Comparison& comparison) {
  const auto [won, lost, not_compared] = sorted(comparison);
  std::vector<std::string> lines, scores, undefined;
  for (const Measure* measure : not_compared) undefined.push_back(measure->name);
  for (const Measure* measure : won)
    scores.push_back(fmt::format("{} ({})", measure->name, figure(measure->values[0])));
  if (!won.empty())
    lines.push_back(fmt::format("the model is better than every baseline by {}", fmt::join(scores, ", ")));
  if (!lost.empty()) lines.push_back("the model is not the best: " + what_is_better(comparison, lost));
  if (!not_compared.empty())
    lines.push_back(fmt::format("not compared by {}: not defined here", fmt::join(undefined, ", ")));
  return lines;
}

nlohmann::ordered_json json_of(const Comparison& comparison) {
  const auto [won, lost, not_compared] = sorted(comparison);
  auto better = nlohmann::ordered_json::array(), not_better = nlohmann::ordered_json::object();
  for (const Measure* measure : won) better.push_back(measure->key);
  for (const Measure* measure : lost)
    for (const size_t k : not_beaten(*measure)) not_better[measure->key].push_back(comparison.baselines[k]);
  return {{"better_than_every_baseline", better}, {"not_better", not_better}};
}

}  // namespace timeseries
