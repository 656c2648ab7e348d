// Says in words by which measures a model beats every baseline, and by which it does not.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace timeseries {

struct Comparison {
  struct Measure {
    std::string name, key;  // "RMSE", "rmse"
    bool less_is_better = true;
    std::vector<double> values = {};  // the model's, then each baseline's; NaN: not defined
  };
  std::vector<std::string> baselines;
  std::vector<Measure> measures = {};
};

// One line each for measures that the model wins; measures by which some baseline is as good or better, with the
// best baseline; and measures that cannot be compared:
//   the model is better than every baseline by RMSE (12.30), MASE (0.8100)
//   the model is not the best: last value has sMAPE 15.60 (the model 25.30), MAE 8.700 (9.100)
//   not compared by MASE: not defined here
std::vector<std::string> verdicts(const Comparison& comparison);
// {"better_than_every_baseline": ["rmse"], "not_better": {"smape": ["last value"]}}: only measures that compare.
nlohmann::ordered_json json_of(const Comparison& comparison);

// A score as tables and verdicts print it: format_score(); empty: not defined.
std::string figure(double value);

}  // namespace timeseries
