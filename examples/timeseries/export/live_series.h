// A model of series for the page of `timeseries look --live`.
#pragma once

#include <string>

#include "examples/timeseries/look/look_numbers.h"
#include "export/program/live_page.h"

namespace timeseries {

// The model as the page runs it, from a window as it is scaled to a forecast as it is scaled, and the scaling. Rounds its weights.
// Throws InputError if the page cannot run it.
std::string live_json(const SavedModel& saved, const LookedWindow& window, const LiveOption& live);

}  // namespace timeseries
