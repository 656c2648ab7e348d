// A recipe's model.algorithm, as training begins.
#pragma once

#include <string>
#include <vector>

#include "training/files/algorithm_cache.h"
#include "training/recipe/recipe_sections.h"

namespace unroll {

// Gives `key`, which is model.algorithm, the algorithm that these layers train with in the precision that the process
// computes in. `keep`: whether what is measured may be written down for later runs. Faults of the user's cache are printed on the standard error. Returns how it was chosen, a
// line for the run's facts; empty: there was nothing to measure.
std::string choose_algorithm(const std::string& program, CudnnAlgorithm& key,
                             const std::vector<LayerUse>& layers, const TrainingSection& training, bool keep);

}  // namespace unroll
