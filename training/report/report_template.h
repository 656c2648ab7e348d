// The page around a report: training/report/report.html in the frame of all pages, compiled in.
#pragma once

#include <string_view>

namespace unroll {

std::string_view report_template();  // with "[[title]]" and "[[body]]" to be replaced

}  // namespace unroll
