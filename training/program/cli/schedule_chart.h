// A picture of a schedule, before anything is trained.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "training/program/recipe/recipe_sections.h"
#include "training/report/chart.h"

namespace unroll {

// The learning rate over the epochs, and below it the momentum, or beta1, if the schedule changes it. x counts epochs:
// step k of the n steps of epoch e, all from 0, is at e + k / n. Points that change the line by less than a 2000th of
// the chart's height are left out.
// A plateau's course depends on validation. Its curve assumes scores that always improve, with a line for each of the
// next three divisions.
std::vector<Chart> schedule_charts(const std::string& recipe, const TrainingSections& sections,
                                   const EpochWindows& windows);
// The description of explain's option for these charts.
inline constexpr const char* plot_of_schedule =
    "draws the learning rate over the epochs, and the momentum where the schedule moves it, as SVG";
// Writes the charts into one file, one below the other. Throws Error if the file exists, or cannot be written.
void write_schedule_plot(const std::filesystem::path& file, const std::string& recipe,
                         const TrainingSections& sections, const EpochWindows& windows);

}  // namespace unroll
