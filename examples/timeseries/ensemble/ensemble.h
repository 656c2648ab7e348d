// An ensemble forecasts the weighted mean of its members: networks in one file, and baselines.
//
// The weights come from rolling folds (ensemble_folds.h). The file has no parameters of baselines: they are fitted
// to the rows at hand. To score the ensemble these are the training rows, to forecast all rows before the forecast.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "examples/timeseries/baselines/baselines.h"
#include "examples/timeseries/ensemble/ensemble_weights.h"
#include "examples/timeseries/ensemble/interval.h"
#include "examples/timeseries/ensemble/series_model.h"
#include "examples/timeseries/recipe/ensemble_keys.h"

namespace timeseries {

// The results of the folds, stored in the model's file. Without folds, `windows` is 0.
struct EnsembleFacts {
  struct Member {
    std::string name;
    std::vector<double> weights;  // by target; over members they add up to 1
    std::vector<double>
        scaled_mse;  // on the folds, by target; NaN: it could not forecast, or there are no folds
  };
  std::vector<Member> members = {};  // in the order of ensemble.members
  std::string from = {}, to = {};    // times of the first and the last row that a fold forecast
  int64_t windows = 0;
  // Errors of forecasts on the folds, by "the model" and the baselines' names, in units of intervals (conformal.h).
  // By window [horizon, targets], only the last `most_fold_errors` windows.
  std::map<std::string, std::vector<std::vector<double>>> errors = {};
  std::vector<double> scaled_mse = {};  // of the ensemble on the folds, by target
  // The ensemble on the folds: `within` of `counted` values lay in an interval from the errors before them.
  int64_t within = 0, counted = 0;

  bool empty() const { return members.empty(); }
};
constexpr size_t most_fold_errors = 200;

nlohmann::ordered_json json_of(const EnsembleFacts& facts);
// Throws nlohmann::json::exception if the JSON has no such facts.
EnsembleFacts ensemble_facts(const nlohmann::ordered_json& json);

// The mean that tables print for weights and errors.
double mean_over_targets(const std::vector<double>& values);

// The members of a recipe without folds, with equal weights.
EnsembleFacts equal_members(const Recipe& recipe, size_t targets);

// Gives an interval the folds' errors of "the model" or a baseline; if it has fewer steps, the first ones. Returns
// false if there are none of this name or of as many steps. `chose`: these errors chose the weights.
bool know_folds(ForecastInterval& interval, const EnsembleFacts& facts, const std::string& name, bool chose);
// For folds with fewer than 8 windows, or fewer steps than the interval: gives each step the folds' errors of all
// steps. For later steps they are multiplied by the root of the ratio of steps, as a random walk's errors grow.
// Returns false if fewer than 8 errors are known.
bool know_steps_together(ForecastInterval& interval, const EnsembleFacts& facts);

class Ensemble {
 public:
  // Fits the baselines that have a weight to the part `train`. Requires: all arguments outlive it.
  Ensemble(const Recipe& recipe, const SeriesModel& model, const EnsembleFacts& facts, const Series& series,
           const Part& train, const std::vector<int>& targets);

  int64_t history() const;
  // Forecasts over the windows' horizon. Leaves out a member whose forecast explodes (RangeSoFar), and a baseline
  // with too few rows: the others share its weight. If all are left out, the last value is the forecast.
  Forecasts forecasts() const;
  // The forecast [steps, targets] from the row `origin` on. `network` gives the forecast of a network by its number.
  std::vector<double> forecast(const Series& series, int64_t origin, int steps,
                               const std::function<std::vector<double>(size_t network)>& network) const;
  // A warning that names the members left out of forecasts so far, and why. None: no member was.
  std::optional<std::string> left_out() const;

 private:
  struct Member {
    std::string name;
    int network = -1;  // its number in the model; -1: a baseline
    std::optional<ForecastBaseline> baseline = {};
    std::vector<double> weights;
  };
  const Recipe* recipe_;
  const SeriesModel* model_;
  std::vector<int> targets_;
  std::vector<Member> members_;  // only members with a weight
  mutable RangeSoFar so_far_;
  mutable std::set<std::string> exploded_, unfitted_;
  mutable bool took_last_value_ = false;
};

}  // namespace timeseries
