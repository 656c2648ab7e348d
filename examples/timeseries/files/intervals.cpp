// Intervals of time in place of times. See series_columns.h.
#include <set>

#include <fmt/format.h>

#include "data/lower_case.h"
#include "examples/timeseries/files/cells.h"
#include "examples/timeseries/files/mend.h"
#include "examples/timeseries/files/series_columns.h"
#include "framework/one_line.h"

namespace unroll {

// The time of day at the end of a text, or its last word.
static std::string_view last_clock(std::string_view text) {
  constexpr const char* marks = " T";
  const std::string end = lower_case(text.substr(std::max<std::size_t>(text.size(), 3) - 3));
  const bool is_half_day = end == " am" || end == " pm";
  return text.substr(text.find_last_of(marks, is_half_day ? text.size() - 4 : text.npos) + 1);
}

std::optional<std::string_view> begin_of_interval(std::string_view cell) {
  for (const std::string_view dash : {" - ", " – ", "–", "-"}) {
    const std::size_t at = cell.rfind(dash);
    if (at == cell.npos) continue;
    const std::string_view begin = cell.substr(0, at), end = cell.substr(at + dash.size());
    const auto is_clock = [](std::string_view time) {
      return reads_as_date(fmt::format("2000-01-01 {}", time));
    };
    const auto last = last_clock(begin);  // a time of day, or no more than that
    if (is_clock(last) && is_clock(end) && (last.size() == begin.size() || reads_as_date(begin)))
      return begin;
    if (dash != "-" && reads_as_date(begin) && reads_as_date(end)) return begin;
  }
  return std::nullopt;
}

void require_no_intervals(CsvReader csv, std::size_t place, const std::string& called) {
  const std::string cell(cell_of(csv, place));
  const int64_t line = csv.line();
  if (const auto begin = begin_of_interval(cell); !begin || !reads_as_date(*begin)) return;
  // 07:00-08:00 may be a time with an offset from UTC, which is the same at other hours.
  std::set<std::string, std::less<>> begins, ends;
  const bool all = each_row(csv, [&] {
    const std::string_view now = cell_of(csv, place), from = begin_of_interval(now).value_or("");
    if (!from.empty()) begins.emplace(last_clock(from)), ends.emplace(now.substr(from.size()));
    return !from.empty() && begins.size() < 4;
  });
  if ((!all && begins.size() < 4) || 4 * ends.size() < 3 * begins.size() || ends.size() < 2 ||
      (begins.size() < 3 && ends.begin()->starts_with('-')))
    return;
  refuse_rows(fmt::format("{}:{}: {}: '{}' is an interval of time: write its begin alone", csv.origin(), line,
                          called, one_line(cell)),
              fmt::format("intervals in {} are read as their begins, as '{}' in line {}", called,
                          one_line(cell), line),
              csv.separator(), [=, row = 0](std::vector<std::string>& cells, int64_t) mutable {
                if (row++ > 0 && place < cells.size())
                  cells[place] = std::string(begin_of_interval(cells[place]).value_or(cells[place]));
              });
}

}  // namespace unroll
