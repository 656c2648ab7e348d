// An ensemble: networks in one file, and baselines beside them, whose weighted mean is the forecast.
//
// The weights come from rolling folds (ensemble_folds.h). A baseline's parameters do not stand in the file: they are fitted to
// the rows at hand, those that train where the ensemble is scored, and all rows before the forecast where it forecasts.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "examples/timeseries/baselines/baselines.h"
#include "examples/timeseries/ensemble/ensemble_weights.h"
#include "examples/timeseries/networks/interval.h"
#include "examples/timeseries/networks/model.h"
#include "examples/timeseries/recipe/ensemble_keys.h"

namespace timeseries {

// What the folds have found: it belongs to a model, and stands in its file. Without folds, windows is 0.
struct EnsembleFacts {
  struct Member {
    std::string name;
    std::vector<double> weights;  // by target; of a target they add up to 1
    std::vector<double>
        scaled_mse;  // of its forecasts of the folds, by target; NaN: it could not, or there are none
  };
  std::vector<Member> members = {};  // of ensemble.members, in their order
  std::string from = {}, to = {};    // the times of the first and the last row that a fold forecast
  int64_t windows = 0;
  // By "the model" and the names of baselines: the errors of their forecasts of the folds, in units of intervals (conformal.h),
  // by window [horizon, targets]; of many the last ones.
  std::map<std::string, std::vector<std::vector<double>>> errors = {};
  std::vector<double> scaled_mse = {};  // of the ensemble there, by target
  // Of the ensemble on the folds: values within an interval by the errors before each, of so many.
  int64_t within = 0, counted = 0;

  bool empty() const { return members.empty(); }
};
constexpr size_t most_fold_errors = 200;

nlohmann::ordered_json json_of(const EnsembleFacts& facts);
// Throws nlohmann::json::exception: it is none.
EnsembleFacts ensemble_facts(const nlohmann::ordered_json& json);

// As tables print weights and errors.
double mean_over_targets(const std::vector<double>& values);

// Of a recipe without folds: its members, which weigh the same.
EnsembleFacts equal_members(const Recipe& recipe, size_t targets);

// Tells an interval the errors of the forecasts of the folds, of "the model" or a baseline; of fewer steps the first ones.
// False: none of that name, or of as many steps, are known. `chose`: they chose the weights.
bool know_folds(ForecastInterval& interval, const EnsembleFacts& facts, const std::string& name, bool chose);
// For folds of fewer than 8 windows, or of fewer steps: each step is told the errors at all steps of the folds. Steps beyond theirs
// have them times the root of how much further they are, as a random walk's errors grow. False: fewer than 8 errors are known.
bool know_steps_together(ForecastInterval& interval, const EnsembleFacts& facts);

// An ensemble over a series.
class Ensemble {
 public:
  // Its baselines are fitted to the part `train`, but for those without a weight. All must outlive it.
  Ensemble(const Recipe& recipe, const SeriesModel& model, const EnsembleFacts& facts, const Series& series,
           const Part& train, const std::vector<int>& targets);

  // Rows that must lie before a forecast.
  int64_t history() const;
  // Forecasts as many steps as the windows have. Left out is a member whose forecast explodes (RangeSoFar), or a baseline that the
  // rows are too few for: the others share its weight. If all are left out, the last value is the forecast.
  Forecasts forecasts() const;
  // Of any row [steps, targets]; `network` forecasts so many steps by the network of that number.
  std::vector<double> forecast(const Series& series, int64_t origin, int steps,
                               const std::function<std::vector<double>(size_t network)>& network) const;
  // Names the members that were left out of a forecast so far, and why, for a warning. None: no member was.
  std::optional<std::string> left_out() const;

 private:
  struct Member {
    std::string name;
    int network = -1;  // of the model; -1: a baseline
    std::optional<ForecastBaseline> baseline = {};
    std::vector<double> weights;
  };
  const Recipe* recipe_;
  const SeriesModel* model_;
  std::vector<int> targets_;
  std::vector<Member> members_;  // those with a weight
  mutable RangeSoFar so_far_;
  mutable std::set<std::string> exploded_, unfitted_;
  mutable bool took_last_value_ = false;
};

}  // namespace timeseries
