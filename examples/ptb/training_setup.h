// What a recipe says about optimizer and schedule, as the objects of the library.
#pragma once

#include <memory>

#include "optim/optimizer.h"
#include "optim/schedule.h"
#include "recipe.h"

namespace ptb {

// `windows`: of an epoch.
std::unique_ptr<Optimizer> make_optimizer(const Recipe& recipe, ParameterSet& params, int64_t windows);
Schedule make_schedule(const Recipe& recipe, int64_t windows);

}  // namespace ptb
