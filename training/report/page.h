// What pages are made of: the report of a run, and the page of a sweep.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "training/report/chart.h"
#include "training/report/run_description.h"

namespace unroll {

// A chart with its legend, and the caption below it. Scaled down, letters would shrink too: a narrow screen has a drawing of
// its own. `id` must be new on the page.
std::string chart_html(const Chart& chart, int height, const std::string& id, const std::string& caption);
// `inside`: the drawings, and what stands above them. The figures of the chart come with it, for values under the pointer.
std::string figure_html(const std::string& inside, const Chart& chart, const std::string& caption);
// Figures side by side, each with its name and a note.
std::string tiles_html(const std::vector<RunDescription::Figure>& figures);
// `best`: the row that stands out.
std::string table_html(const RunDescription::Table& table, std::size_t best = static_cast<std::size_t>(-1));
// A table under its title, its note below.
std::string section_html(const RunDescription::Table& table);
// The whole page, of what stands in its body.
std::string page_html(const std::string& title, const std::string& body);

}  // namespace unroll
