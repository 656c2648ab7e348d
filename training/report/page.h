// The parts of pages, such as the report of a run.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "training/report/chart.h"
#include "training/report/run_description.h"

namespace unroll {

// A chart with its legend, and the caption below it. A narrow screen gets a drawing of its own, since scaling down
// would shrink the letters too. Requires: an `id` that is new on the page.
std::string chart_html(const Chart& chart, int height, const std::string& id, const std::string& caption);
// `inside`: the drawings, with what stands above them. Adds the chart's figures, for values under the pointer.
std::string figure_html(const std::string& inside, const Chart& chart, const std::string& caption);
// Figures side by side, each with its name and a note.
std::string tiles_html(const std::vector<RunDescription::Figure>& figures);
// `best`: the row to highlight.
std::string table_html(const RunDescription::Table& table, std::size_t best = static_cast<std::size_t>(-1));
std::string section_html(const std::string& title, const std::string& inside);
// A table with its title above and its note below.
std::string section_html(const RunDescription::Table& table);
// The frame of all pages, compiled in: training/report/report.html, with "[[title]]" and "[[body]]" to be replaced.
std::string_view report_template();
// The whole page around `body`.
std::string page_html(const std::string& title, const std::string& body);

}  // namespace unroll
