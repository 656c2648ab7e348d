// Weights of an ensemble's members, from their errors.
#pragma once

#include <vector>

#include "examples/timeseries/recipe/recipe.h"

namespace timeseries {

// Inner products of the members' errors: from [members][values], on the same values, to [members][members].
std::vector<std::vector<double>> products_of(const std::vector<std::vector<double>>& errors);

// Weights of members from the products of their errors; they add up to 1.
// * inverse_square: proportional to 1 over the mean square (Bates and Granger 1969).
// * better_half: as above for the half with the least mean squares, rounded up and at least three; 0 for the others
//   (Granger and Jeon 2004).
// * selection: a member's share of 50 choices; each choice takes the member that makes the mean of all choices so far
//   best (Caruana, Niculescu-Mizil, Crew and Ksikes 2004).
// * equal: the same for all.
std::vector<double> weights_of(Weighting rule, const std::vector<std::vector<double>>& products);

// Groups of targets that share their weights: one for each target, or a single one with ensemble.pooled.
std::vector<std::vector<size_t>> weighed_together(const Recipe& recipe, size_t targets);

}  // namespace timeseries
