// For the suites of files as people have them: files of rows that repeat each week, and what is said of them.
#pragma once

#include "examples/timeseries/series/times.h"
#include "tests/examples/timeseries.h"

namespace everyday {

using namespace unroll;

inline const Words quick = set({"data.period=7"});

inline ProgramRun forecast_of(const Folder& folder, const std::string& csv, const Words& more = {}) {
  folder.write("x.csv", csv);
  return started(Words{"forecast", "x.csv", "--steps", "2"} + quick + more, folder.path());
}
// The one line in which a file is refused that is not mended.
inline std::string refusal(const Folder& folder, const std::string& csv) {
  const ProgramRun run = forecast_of(folder, csv, set({"data.mend=false"}));
  CHECK_MESSAGE((run.code == 2 && lines_of(run.err).size() == 1), run.err);
  return run.err;
}
inline std::string first_forecast(const ProgramRun& run) {
  REQUIRE_MESSAGE(run.code == 0, run.err);
  const std::string line = lines_of(run.out).at(1);
  return line.substr(0, line.find(',', line.find(',') + 1));
}
template <class Cells>
std::string rows(const std::string& header, int count, const Cells& cells) {
  std::string csv = header + "\n";
  for (int row = 0; row < count; ++row) csv += cells(row) + "\n";
  return csv;
}
// Rows repeat each week.
inline int week(int row) { return 10 + row % 7; }
inline CalendarTime day(int row) {
  return calendar_of({.form = TimeForm::date, .count = parse_time("2021-01-04")->count + row * one_day});
}
inline int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

}  // namespace everyday
