#include "examples/timeseries/files/row_times.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "examples/timeseries/files/cells.h"
#include "examples/timeseries/series/calendar.h"
#include "framework/check.h"
#include "framework/one_line.h"

namespace unroll {

std::string or_no_row(const SeriesText& file) {
  const auto& columns = file.columns;
  CsvReader csv = file.csv;
  const auto begins_row = [&](std::size_t place) {
    const std::string_view cell = place < csv.cells().size() ? csv.cells()[place] : "";
    return time_in(cell, columns) || written_number(cell, {}) ||
           (csv.count() > 1 && looks_like_a_date(cell));  // a remark may end with a date
  };
  if (begins_row(0)) return "";
  const auto has = [&](int column) { return begins_row(static_cast<std::size_t>(column + columns.skipped)); };
  const std::vector<int> of_row = columns.time < 0 ? columns.chosen : std::vector{columns.time};
  bool is_footer = true;
  try {
    do is_footer = (csv.count() == 1 && columns.names.size() > 1) || std::ranges::none_of(of_row, has);
    while (is_footer && csv.next());
  } catch (const InputError&) {  // a quote in a remark
    is_footer = false;
  }
  const int64_t line = file.csv.line();
  if (is_footer && csv.lines() > line)
    return fmt::format("; lines {} to {} look like a footer: delete them", line, csv.lines());
  return fmt::format("; if line {} is no row of the series, such as a total, delete it", line);
}

bool is_in_first_rows(const SeriesText& file) {
  CsvReader csv = file.csv;
  int64_t rows = 0, empty = 0, dated = 0;
  const auto at = static_cast<std::size_t>(file.columns.time + file.columns.skipped);
  try {
    do {
      const std::string_view cell = at < csv.cells().size() ? csv.cells()[at] : "-";
      ++rows, empty += cell.empty(), dated += time_in(cell, file.columns).has_value();
    } while (csv.next());
  } catch (const InputError&) { return false; }  // reported when its row is read
  return dated > 0 && 2 * empty > rows;
}

namespace {

// Most of the whole numbers look like dates: how to read them as values instead.
std::string or_a_channel(const SeriesColumns& columns, const SeriesOptions& options) {
  if (!columns.time_found || columns.form == TimeForm::number || !options.model.empty()) return "";
  std::vector<std::string> names = {columns.names[columns.time]};
  for (const int column : columns.chosen) names.push_back(columns.names[column]);
  if (columns.label >= 0) names.erase(names.begin() + 1 + columns.label);
  return fmt::format("; if the column holds values, data.channels = {} reads it as a channel",
                     toml_list(names));
}

}  // namespace

// Throws InputError: the row's time does not follow `last`, the time of the row before, in the rows' direction.
void RowTimes::refuse_order(const SeriesText& file, const Times& times, const Time& time,
                            int64_t last) const {
  const auto& [text, csv, columns, options] = file;
  file.require_one_series();
  Time before = times.time(static_cast<int64_t>(times.at.size()) - 1);
  before.count = last;
  const bool clock = time.form == TimeForm::date_time && !time.utc && std::abs(last - time.count) <= one_hour;
  std::string hint = clock ? "; where clocks are set back, an hour comes twice: times with an offset "
                             "(2021-10-31T02:00+01:00) tell which is which"
                           : or_a_channel(columns, options);
  if (time.count == last && (hint.empty() || clock) && columns.id < 0 && time.form != TimeForm::number &&
      options.model.empty())
    hint += "; put the rows of one time together first: their sum, mean or last";
  const std::string of_series =
      columns.id < 0 ? "" : fmt::format(" of series '{}'", one_line(file.cell(columns.id)));
  const std::string where = file.where(columns.time);
  if (time.count == last)
    throw InputError(fmt::format("{}: {}{} stands there twice{}", where, to_text(before), of_series, hint));
  throw InputError(
      fmt::format("{}: {}{} comes after {}: rows must be in order of time{}{}", where, to_text(time),
                  of_series, to_text(before),
                  direction_ == Direction::back ? ", and those above it have the newest first" : "", hint));
}

void RowTimes::read(const SeriesText& file, Times& times, const int64_t* last) {
  const auto& [text, csv, columns, options] = file;
  const std::string_view cell = file.cell(columns.time);
  const auto time = time_in(cell, columns);
  const auto where = [&] { return file.where(file.columns.time); };
  if (!time) {
    if (columns.order != DateOrder::unknown && reads_as_date(cell))
      throw InputError(fmt::format("{}: '{}' is not a time, since dates here are {}", where(), one_line(cell),
                                   described(columns.order)));
    if (cell.empty() && !times.at.empty() && is_in_first_rows(file))
      throw InputError(fmt::format(
          "{}: the row has no time: only the first of several rows has it; fill it down into the others",
          where()));
    const bool is_large = std::abs(parse_number(cell).value_or(0)) >= static_cast<double>(largest_number);
    throw InputError(fmt::format(
        "{}: '{}' is not a time; these forms are read: whole numbers{}, {}{}{}", where(), one_line(cell),
        is_large ? fmt::format(" up to {} (nanoseconds since 1970 in 2065)", largest_number) : "",
        forms_of_time, or_a_channel(columns, options), !times.at.empty() ? or_no_row(file) : ""));
  }
  if (columns.form != TimeForm::number && time->form != columns.form) {
    const std::string called = times_called(columns.form);
    throw InputError(fmt::format("{}: '{}' is no {}, and the column holds {}{}", where(), one_line(cell),
                                 called.substr(0, called.size() - 1), called,
                                 or_a_channel(columns, options)));
  }
  if (times.at.empty()) {
    times.form = time->form;
    times.utc = time->utc;
    times.compact = time->compact;
  } else {
    const Time before = times.time(static_cast<int64_t>(times.at.size()) - 1);
    if (time->form != times.form || time->compact != times.compact) {
      throw InputError(fmt::format("{}: '{}' is another form of time than '{}' above it", where(),
                                   one_line(cell), to_text(before)));
    }
    if (time->utc != times.utc)  // not require_input(): formats only on failure
      throw InputError(fmt::format(
          "{}: '{}' has {} offset from UTC, and the times above it have {}: which comes first cannot be told",
          where(), one_line(cell), time->utc ? "an" : "no", time->utc ? "none" : "one"));
    if (last) {
      // Whole numbers that descend may be values, but for years: their column is named so, or they are evenly spaced.
      const bool may_go_back = columns.form == TimeForm::year ||
                               (columns.form == TimeForm::number && time->form != TimeForm::number);
      if (direction_ == Direction::unknown && (time->count > *last || may_go_back) && time->count != *last)
        direction_ = time->count > *last ? Direction::forward : Direction::back;
      const bool in_order = direction_ == Direction::back ? time->count < *last : time->count > *last;
      if (!in_order) refuse_order(file, times, *time, *last);
    }
  }
  if (time->offset != 0 && times.offsets.empty()) times.offsets.resize(times.at.size());
  times.at.push_back(time->count);
  if (time->offset != 0 || !times.offsets.empty()) times.offsets.push_back(time->offset);
}

}  // namespace unroll
