// The course of a schedule as a picture, before anything is trained.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "training/program/recipe/recipe_sections.h"
#include "training/report/chart.h"

namespace unroll {

// The learning rate over the epochs; below it the momentum, or beta1, where the schedule moves that. x counts epochs: the
// step k of the n of an epoch e, all from 0, stands at e + k / n. A point is left out where the line without it is nearer
// than a 2000th of the chart's height. How a plateau goes on, validation says: its curve is that of scores that
// always improve, with a line for each of the next three divisions.
std::vector<Chart> schedule_charts(const std::string& recipe, const TrainingSections& sections,
                                   const EpochWindows& windows);
// The option of "explain" that asks for them.
inline constexpr const char* plot_of_schedule =
    "draws the learning rate over the epochs, and the momentum where the schedule moves it, as SVG";
// Draws them, one below the other. Throws Error where there is such a file already, or it cannot be written.
void write_schedule_plot(const std::filesystem::path& file, const std::string& recipe,
                         const TrainingSections& sections, const EpochWindows& windows);

}  // namespace unroll
