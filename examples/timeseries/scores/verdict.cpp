#include "examples/timeseries/scores/verdict.h"

#include <cmath>
#include <span>

#include <fmt/format.h>

#include "training/report/progress.h"

namespace timeseries {

namespace {

// The model's score by one measure beside the baselines'.
struct Judged {
  const Measure& measure;
  double model;
  bool is_compared = false;                       // both the model and some baseline have this score
  std::vector<const ScoredRow*> not_beaten = {};  // baselines that are as good as the model or better
  const ScoredRow* best = nullptr;                // of these
  double of_best = 0;
};

std::vector<Judged> judged(const Comparison& comparison) {
  std::vector<Judged> all;
  for (size_t k = 0; k < comparison.measures.size(); ++k) {
    const Measure& measure = comparison.measures[k];
    Judged by{measure, comparison.rows[0].values[k]};
    bool is_known = !std::isnan(by.model);
    for (const ScoredRow& row : std::span(comparison.rows).subspan(1)) {
      const double baseline = row.values[k];
      if (row.knows_labels || std::isnan(baseline)) continue;
      is_known = true, by.is_compared = !std::isnan(by.model);
      const auto is_better = [&](double a, double b) { return measure.less_is_better ? a < b : a > b; };
      if (is_better(by.model, baseline)) continue;
      by.not_beaten.push_back(&row);
      if (!by.best || is_better(baseline, by.of_best)) by.best = &row, by.of_best = baseline;
    }
    if (is_known || !measure.is_optional) all.push_back(std::move(by));
  }
  return all;
}

}  // namespace

std::string figure(double value) { return std::isnan(value) ? "" : unroll::format_score(value); }

std::vector<std::string> verdicts(const Comparison& comparison) {
  const std::vector<Judged> all = judged(comparison);
  std::vector<std::string> lines, won, lost, undefined;
  for (const Judged& by : all)
    if (!by.is_compared)
      undefined.emplace_back(by.measure.name);
    else if (!by.best)
      won.push_back(fmt::format("{} ({})", by.measure.name, figure(by.model)));
  for (const ScoredRow& row : comparison.rows) {
    std::vector<std::string> scores;
    for (const Judged& by : all)
      if (by.is_compared && by.best == &row)
        scores.push_back(fmt::format("{} {} ({}{})", by.measure.name, figure(by.of_best),
                                     lost.empty() && scores.empty() ? "the model " : "", figure(by.model)));
    if (!scores.empty()) lost.push_back(fmt::format("{} has {}", row.name, fmt::join(scores, ", ")));
  }
  if (!won.empty())
    lines.push_back(fmt::format("the model is better than every baseline by {}", fmt::join(won, ", ")));
  if (!lost.empty()) lines.push_back(fmt::format("the model is not the best: {}", fmt::join(lost, "; ")));
  if (!undefined.empty())
    lines.push_back(fmt::format("not compared by {}: not defined here", fmt::join(undefined, ", ")));
  return lines;
}

nlohmann::ordered_json json_of(const Comparison& comparison) {
  auto better = nlohmann::ordered_json::array(), not_better = nlohmann::ordered_json::object();
  for (const Judged& by : judged(comparison)) {
    if (!by.is_compared) continue;
    if (!by.best) better.push_back(by.measure.key);
    for (const ScoredRow* row : by.not_beaten) not_better[by.measure.key].push_back(row->name);
  }
  return {{"better_than_every_baseline", better}, {"not_better", not_better}};
}

}  // namespace timeseries
