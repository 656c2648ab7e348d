// The page of a sweep: `sweep.html` in its folder, one file that needs no network and no server.
#pragma once

#include <filesystem>

#include "training/program/sweep/results.h"

namespace unroll {

constexpr const char* sweep_page = "sweep.html";

// The table; how the validation score went on, the mean of each configuration; and for each the curves of its trials, with
// their mean and spread. Of trials that have begun, from their logs. Atomically. Throws Error.
void write_sweep_page(const std::filesystem::path& folder, const SweepPlan& plan,
                      const TrialResults& results);

}  // namespace unroll
