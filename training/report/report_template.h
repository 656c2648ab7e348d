// The frame that a report is put into, training/report/report.html, as it is compiled in.
#pragma once

#include <string_view>

namespace unroll {

std::string_view report_template();  // with "[[title]]" and "[[body]]" to be replaced

}  // namespace unroll
