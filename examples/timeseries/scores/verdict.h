// In words: by which measures a model is better than every baseline, and by which it is not.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace timeseries {

struct Comparison {
  struct Measure {
    std::string name, key;  // "RMSE", "rmse"
    bool less_is_better = true;
    std::vector<double> values = {};  // of the model, then of each baseline; NaN: not defined
  };
  std::vector<std::string> baselines;
  std::vector<Measure> measures = {};
};

// A line for what the model wins, one for the measures by which some baseline is as good or better, by the best
// baseline, and one for what cannot be compared:
//   the model is better than every baseline by RMSE (12.30), MASE (0.8100)
//   the model is not the best: last value has sMAPE 15.60 (the model 25.30), MAE 8.700 (9.100)
//   not compared by MASE: it is not defined here
std::vector<std::string> verdicts(const Comparison& comparison);
// The same for a tile that shows one of the measures, which comes first:
// "not the best: last value has RMSE 15.60 (the model 17.20); better than every baseline by MAE; not by sMAPE"
std::string verdict_beside(const Comparison& comparison, const std::string& key);
// {"better_than_every_baseline": ["rmse"], "not_better": {"smape": ["last value"]}}; a measure that cannot be compared
// stands in neither.
nlohmann::ordered_json json_of(const Comparison& comparison);

// As tables and verdicts print a score: format_score(); empty: not defined.
std::string figure(double value);

}  // namespace timeseries
