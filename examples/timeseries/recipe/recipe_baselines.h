// The baselines that a recipe asks for, and those that are members of its ensemble.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "examples/timeseries/baselines/baselines.h"
#include "examples/timeseries/recipe/recipe.h"

namespace timeseries {

// The baseline of that word (ensemble_keys.h), fitted to rows of a series of which the first `known` are known. None: too few
// rows for it; growth, if a known value is 0 or less.
std::optional<ForecastBaseline> baseline_of(const std::string& word, const Recipe& recipe,
                                            const Series& series, int64_t known, const Part& train,
                                            const std::vector<int>& targets);

// Those of the tables, in their order. The names of those that the rows are too few for go to `left_out`.
std::vector<ForecastBaseline> baselines_of(const Recipe& recipe, const Series& series, const Part& train,
                                           const std::vector<int>& targets,
                                           std::vector<std::string>& left_out);

}  // namespace timeseries
