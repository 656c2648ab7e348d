// Says in words by which measures a model beats every baseline, and by which it does not.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace timeseries {

struct Measure {
  const char *name, *key;  // "RMSE", "rmse"
  bool less_is_better = true;
  bool is_optional = false;  // left out if no row has it
};

struct ScoredRow {
  std::string name;
  std::vector<double> values;  // by measure; NaN: not defined
  bool knows_labels = false;   // reads other rows' labels, which a detector does not see: it is not compared
};

struct Comparison {
  std::vector<Measure> measures;
  std::vector<ScoredRow> rows;  // the model's, then each baseline's
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
