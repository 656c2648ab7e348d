// The weights of an ensemble's members, from their errors.
#pragma once

#include <vector>

#include "examples/timeseries/recipe/recipe.h"

namespace timeseries {

// Of errors on the same values [members][values]: the sum of the products of any two members' [members][members].
std::vector<std::vector<double>> products_of(const std::vector<std::vector<double>>& errors);

// Weights of members from the products of their errors; they add up to 1. Weighting::inverse_square: 1 over
// the mean square (Bates and Granger 1969). Weighting::better_half: the same of the half with the least mean squares, rounded up,
// and of three at least; the others have 0 (Granger and Jeon 2004). Weighting::selection: of 50 choices the share that took the
// member; each takes the one that makes the mean of all choices so far best (Caruana, Niculescu-Mizil, Crew and Ksikes 2004).
std::vector<double> weights_of(Weighting rule, const std::vector<std::vector<double>>& products);

// Which of so many targets have their weights together: each by itself, or with ensemble.pooled all.
std::vector<std::vector<size_t>> weighed_together(const Recipe& recipe, size_t targets);

}  // namespace timeseries
