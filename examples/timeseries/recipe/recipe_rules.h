// Rules between the keys of a recipe.
#pragma once

#include "examples/timeseries/recipe/recipe.h"

namespace timeseries {

// Refuses values that cannot stand beside others.
void check_rules(const RecipeReader& reader, const Recipe& recipe);
// The keys that nothing reads beside the values of others.
UnreadKeys unread_keys(const Recipe& recipe);

}  // namespace timeseries
