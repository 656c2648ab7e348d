// Rules between the keys of a recipe.
#pragma once

#include "examples/timeseries/recipe/recipe.h"

namespace timeseries {

// Throws InputError for values that do not go together.
void check_rules(const RecipeReader& reader, const Recipe& recipe);
// The keys that have no effect, given the values of others.
UnreadKeys unread_keys(const Recipe& recipe);

}  // namespace timeseries
