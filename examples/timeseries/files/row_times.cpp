#include "examples/timeseries/files/row_times.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "examples/timeseries/files/cells.h"
#include "examples/timeseries/files/mend.h"
#include "examples/timeseries/series/calendar.h"
#include "examples/timeseries/series/series_rows.h"
#include "framework/check.h"
#include "framework/one_line.h"

namespace unroll {

namespace {

std::string or_delete(int64_t line, int64_t more = 0) {
  return fmt::format("; if line {}{} no row{} of the series, such as a total, delete {}", line,
                     more == 0 ? " is" : fmt::format(" and {} more like it are", more), more == 0 ? "" : "s",
                     more == 0 ? "it" : "them");
}

// Whether a row that cannot be read is none by its words: the names again, a total, or nothing.
bool is_plainly_none(const SeriesText& file, const CsvReader& csv) {
  std::size_t empty = 0, named = 0;
  for (std::size_t i = 0; i < csv.cells().size(); ++i) {
    const auto column = i - static_cast<std::size_t>(file.columns.skipped);
    empty += csv.cells()[i].empty();
    named += column < file.columns.names.size() && csv.cells()[i] == file.columns.names[column];
  }
  const std::string_view first = cell_of(csv, 0);
  // SAP marks totals so: "*", "** 1000".
  const bool has_stars =
      first.starts_with('*') && first.substr(0, first.find(' ')).find_first_not_of('*') == first.npos;
  return std::max(empty, named) == csv.cells().size() || has_stars || says_total(first);
}

// The lines from the reader's row on, if other names than the file's stand in them, above a row with a number; none: no other table does.
std::set<int64_t> lines_of_another_table(const SeriesText& file) {
  CsvReader csv = file.csv;
  if (is_plainly_none(file, csv)) return {};
  if (csv.cells().size() == file.columns.width()) {  // an empty line stands between the two
    CsvReader above = file.at_first_row();
    int64_t last = 0;
    for (; above.line() < csv.line(); above.next()) last = above.line();
    if (last + 1 == csv.line()) return {};
  }
  const auto is_word = [](std::string_view cell) {
    return !cell.empty() && !reads_as_value(std::string(cell), '.') &&
           !reads_as_value(std::string(cell), ',');
  };
  std::set<int64_t> lines;
  std::ptrdiff_t named = 0;  // cells of the row above, if it has names
  int64_t wide = 0;          // rows of more than one cell
  bool is_found = false;
  each_row(csv, [&] {
    const auto words = std::ranges::count_if(csv.cells(), is_word), cells = std::ssize(csv.cells());
    is_found = is_found || (named == cells && words < cells);
    const bool are_names = cells > 1 && words == cells && wide < 3 && !is_plainly_none(file, csv);
    named = are_names ? cells : 0, wide += cells > 1;
    lines.insert(csv.line());
  });
  return is_found ? lines : std::set<int64_t>();
}

}  // namespace

std::string require_row(const SeriesText& file, const std::string& message) {
  const auto& columns = file.columns;
  CsvReader csv = file.csv;
  const NumberMarks marks = {file.options.decimal, file.options.thousands};
  const auto begins_row = [&](std::size_t place) {
    const std::string_view cell = cell_of(csv, place);
    if (says_total(cell)) return false;
    const auto filled = csv.cells().size() - std::size_t(std::ranges::count(csv.cells(), std::string_view()));
    return columns.time_in(without_mark(cell)) || written_number(cell, {}) ||
           written_number(without_mark(cell), marks) ||
           (filled > 1 && looks_like_a_date(cell));  // a remark may end with a date
  };
  int64_t more = 0;  // rows below that have no time either
  CsvReader below = csv;
  each_row(below, [&] {
    more += columns.time >= 0 && below.line() > file.csv.line() &&
            !columns.time_in(cell_of(below, columns.place(columns.time)));
  });
  if (2 * (more + 1) > below.line()) more = 0;  // most rows are such: the column holds something else
  if (begins_row(0)) return more > 0 && columns.time >= 0 ? or_delete(csv.line(), more) : "";
  if (auto other = lines_of_another_table(file); !other.empty())
    refuse_lines(message, std::move(other),
                 fmt::format("another table stands below, from '{}' on", one_line(cell_of(csv, 0), 30)));
  const std::vector<int> of_row = columns.time < 0 ? columns.chosen : std::vector{columns.time};
  const int64_t line = csv.line();
  std::set<int64_t> all, plain;
  std::string_view first;  // cell that is not empty
  for (const std::string_view cell : csv.cells())
    if (first.empty()) first = cell;
  const bool is_footer = each_row(csv, [&] {  // false for a quote in a remark, too
    all.insert(csv.line());
    return (csv.count() == 1 && columns.names.size() > 1) ||
           std::ranges::none_of(of_row, [&](int column) { return begins_row(columns.place(column)); });
  });
  if (is_footer)
    refuse_lines(csv.lines() > line ? fmt::format("{}; lines {} to {} look like a footer: delete them",
                                                  message, line, csv.lines())
                                    : message + or_delete(line),
                 std::move(all),
                 first.empty() ? std::string("below the rows")
                               : fmt::format("below the rows, as '{}'", one_line(first, 30)));
  if (is_plainly_none(file, file.csv)) {
    CsvReader again = file.csv;
    each_row(again, [&] {
      if (is_plainly_none(file, again)) plain.insert(again.line());
    });
    refuse_lines(message + or_delete(line), std::move(plain),
                 fmt::format("no rows of the series, as '{}'", one_line(cell_of(file.csv, 0))));
  }
  return or_delete(line, more);
}

void refuse_row(const SeriesText& file, const std::string& message) {
  throw InputError(message + require_row(file, message));
}

void refuse_words(const SeriesText& file, int column, const std::string& message) {
  const std::string or_none = require_row(file, message);
  const std::size_t place = file.columns.place(column);
  const auto is_word = [](std::string_view cell) {  // #DIV/0! is one
    return !says_missing(cell) &&
           (cell.starts_with('#') || cell.find_first_of("0123456789") == std::string_view::npos);
  };
  int64_t rows = 0, words = 0;
  std::set<std::string> different;
  CsvReader csv = file.at_first_row();
  each_row(csv, [&] {
    ++rows;
    if (const std::string_view cell = cell_of(csv, place); is_word(cell)) ++words, different.emplace(cell);
  });
  if (!is_word(file.cell(column)) || !are_few_words(words, std::ssize(different), rows))
    throw InputError(message + or_none);
  refuse_rows(message,
              fmt::format("{} in {} {} read as missing, as '{}' in line {}",
                          words == 1 ? "a word" : fmt::format("{} words", words), file.columns.called(column),
                          words == 1 ? "is" : "are", one_line(file.cell(column)), file.csv.line()),
              file.csv.separator(), [=, row = 0](std::vector<std::string>& cells, int64_t) mutable {
                if (row++ > 0 && place < cells.size() && is_word(cells[place])) cells[place].clear();
              });
}

namespace {

// Whether most rows from the reader's on lack a time, and a later one has one: it stands in the first row of several.
bool is_in_first_rows(const SeriesText& file) {
  CsvReader csv = file.csv;
  int64_t rows = 0, empty = 0, dated = 0;
  const bool all = each_row(csv, [&] {
    const std::size_t place = file.columns.place(file.columns.time);
    const std::string_view cell = place < csv.cells().size() ? csv.cells()[place] : "-";
    ++rows, empty += cell.empty(), dated += file.columns.time_in(cell).has_value();
  });
  return all && dated > 0 && 2 * empty > rows;
}

// Most of the whole numbers look like dates: how to read them as values instead.
std::string or_a_channel(const SeriesColumns& columns, const SeriesOptions& options) {
  if (!columns.time_found || columns.form == TimeForm::number || !options.model.empty()) return "";
  std::vector<std::string> names = {columns.names[columns.time]};
  for (const int column : columns.chosen) names.push_back(columns.names[column]);
  if (columns.label >= 0) names.erase(names.begin() + 1 + columns.label);
  return fmt::format("; if the column holds values, data.channels = {} reads it as a channel",
                     toml_list(names));
}

// Throws InputError: the row has no time.
[[noreturn]] void refuse_cell(const SeriesText& file, bool is_first) {
  const auto& columns = file.columns;
  const std::string_view cell = file.cell(columns.time);
  if (columns.order != DateOrder::unknown && reads_as_date(cell))
    file.refuse(columns.time, "'{}' is not a time, since dates here are {}", one_line(cell),
                described(columns.order));
  if (cell.empty() && !is_first && file.options.mend && is_in_first_rows(file)) {
    CsvReader below = file.csv;  // rows that are none go first
    const bool all = each_row(below, [&] {
      const std::string_view of = cell_of(below, columns.place(columns.time));
      return says_missing(of) || columns.time_in(of);
    });
    const SeriesText at{file.text, below, columns, file.options};
    if (!all) require_row(at, at.about(columns.time, "'{}' is not a time", one_line(at.cell(columns.time))));
    require_time_in_one_column(file);
  }
  if (cell.empty() && !is_first && is_in_first_rows(file))
    file.refuse(columns.time,
                "the row has no time: only the first of several rows has it; fill it down into the others");
  const bool is_large = std::abs(parse_number(cell).value_or(0)) >= static_cast<double>(largest_number);
  const std::string message = file.about(
      columns.time, "'{}' is not a time; these forms are read: whole numbers{}, {}{}", one_line(cell),
      is_large ? fmt::format(" up to {} (nanoseconds since 1970 in 2065)", largest_number) : "",
      forms_of_time, or_a_channel(columns, file.options));
  require_no_marks(
      file.csv, columns.called(columns.time), columns.place(columns.time),
      [form = columns.form, order = columns.order](std::string_view bare) {
        return time_in_column(bare, form, order).has_value();
      },
      message);
  if (is_first) throw InputError(message);
  refuse_row(file, message);
}

// Whether clocks may be set back at a time: before or at 4 on a first or last Sunday of a month of spring or autumn.
bool may_be_set_back(int64_t time) {
  const MonthDay date = month_day(time);
  const auto month = date.month % 12 + 1;
  return weekday_of(time) == 6 && time_of_day(time) <= 4 * one_hour &&
         (date.day <= 7 || date.day + 7 > days_in_month(date.month)) &&
         (month == 3 || month == 4 || (9 <= month && month <= 11));
}

// The lines whose time has passed, by an hour at most; none: not all of them are an hour of a night when clocks may be set back.
std::set<int64_t> lines_of_hours_twice(const SeriesText& file, int64_t forward) {
  std::set<int64_t> again;
  std::map<int64_t, int64_t> rows, steps;  // of each night: how many come again, and how far the next one is
  CsvReader csv = file.at_first_row();
  std::optional<int64_t> latest, night;
  bool all = true;
  each_row(csv, [&] {
    const auto at = file.columns.time_in(cell_of(csv, file.columns.place(file.columns.time)));
    if (!at) return;
    const int64_t on = latest ? forward * (at->count - *latest) : 1;
    if (on <= 0 && on >= -one_hour) {
      all = all && may_be_set_back(at->count);
      night = day_of(at->count), ++rows[*night], again.insert(csv.line());
    } else {
      if (night) steps[*std::exchange(night, std::nullopt)] = on;
      latest = at->count;
    }
  });
  for (const auto& [day, count] : rows) all = all && count * steps[day] == one_hour;
  return all ? again : std::set<int64_t>();
}

}  // namespace

// Throws InputError: the row's time does not follow `last`, the time of the row before, in the rows' direction.
void RowTimes::refuse_order(const SeriesText& file, const Times& times, const Time& time,
                            int64_t last) const {
  const auto& [text, csv, columns, options] = file;
  // Columns are judged by all rows: those that are none go first.
  CsvReader below = csv;
  const bool all = each_row(
      below, [&] { return columns.time_in(cell_of(below, columns.place(columns.time))).has_value(); });
  if (!all) {
    const SeriesText at{text, below, columns, options};
    require_row(at, at.about(columns.time, "'{}' is not a time",
                             one_line(cell_of(below, columns.place(columns.time)))));
  }
  require_one_series(file);
  Time before = times.time(static_cast<int64_t>(times.at.size()) - 1);
  before.count = last;
  // Stamps that repeat at any minute are those of events.
  const bool clock = time.form == TimeForm::date_time && !time.utc &&
                     std::abs(last - time.count) <= one_hour &&
                     (time.count != last || time.count % (one_hour / 4) == 0);
  std::string hint = clock ? "; where clocks are set back, an hour comes twice: times with an offset "
                             "(2021-10-31T02:00+01:00) tell which is which"
                           : or_a_channel(columns, options);
  if (time.count == last && (hint.empty() || clock) && columns.id < 0 && time.form != TimeForm::number &&
      options.model.empty())
    hint += fmt::format("; put the rows of one {} together first: their number, sum, mean or last{}",
                        time.form == TimeForm::date_time && !clock ? "hour or day" : "time",
                        time.form < TimeForm::date ? "" : zero_without_rows(options));
  const std::string of_series =
      columns.id < 0 ? "" : fmt::format(" of series '{}'", one_line(file.cell(columns.id)));
  const std::string message =
      time.count == last
          ? file.about(columns.time, "{}{} stands there twice{}", to_text(before), of_series, hint)
          : file.about(columns.time, "{}{} comes after {}: rows must be in order of time{}{}", to_text(time),
                       of_series, to_text(before),
                       direction_ == Direction::back ? ", and those above it have the newest first" : "",
                       hint);
  if (options.mend && time.count != last) require_sorted(file, message);
  if (options.mend && time.count == last && columns.id < 0) require_one_row_a_time(file, message);
  if (!clock || columns.id >= 0) throw InputError(message);
  if (auto again = lines_of_hours_twice(file, direction_ == Direction::back ? -1 : 1); !again.empty())
    refuse_lines(message, std::move(again), "clocks are set back, and an hour comes twice");
  throw InputError(message);
}

// Throws MendableFile if rows have a thirteenth month, as energy statistics write a year's total: 197313.
static void require_no_month_13(const SeriesText& file, const std::string& message) {
  std::set<int64_t> lines;
  CsvReader csv = file.at_first_row();
  each_row(csv, [&] {
    const std::string_view cell = cell_of(csv, file.columns.place(file.columns.time));
    if (cell.size() == 6 && cell.ends_with("13") && parse_number(cell)) lines.insert(csv.line());
  });
  if (lines.contains(file.csv.line())) refuse_lines(message, std::move(lines), "month 13 is a year's total");
}

void RowTimes::read(const SeriesText& file, Times& times, const int64_t* last) {
  const auto& columns = file.columns;
  const auto time = columns.time_in(file.cell(columns.time));
  if (!time) refuse_cell(file, times.at.empty());
  const auto cell = [&] { return one_line(file.cell(columns.time)); };
  if (columns.form != TimeForm::number && time->form != columns.form) {
    const std::string called = times_called(columns.form);
    const std::string message =
        file.about(columns.time, "'{}' is no {}, and the column holds {}{}", cell(),
                   called.substr(0, called.size() - 1), called, or_a_channel(columns, file.options));
    if (file.options.mend && columns.form == TimeForm::month) require_no_month_13(file, message);
    throw InputError(message);
  }
  if (times.at.empty()) {
    times.form = time->form;
    times.utc = time->utc;
    times.compact = time->compact;
  } else if (time->form != times.form || time->compact != times.compact) {
    const std::string message = file.about(columns.time, "'{}' is another form of time than '{}' above it",
                                           cell(), times.text(std::ssize(times.at) - 1));
    if (times.form >= TimeForm::month) require_same_form(file, message);
    throw InputError(message);
  } else if (time->utc != times.utc) {
    file.refuse(
        columns.time,
        "'{}' has {} offset from UTC, and the times above it have {}: which comes first cannot be told",
        cell(), time->utc ? "an" : "no", time->utc ? "none" : "one");
  } else if (last) {
    const bool may_go_back = time->form != TimeForm::number;  // numbers that descend may be values
    if (direction_ == Direction::unknown && (time->count > *last || may_go_back) && time->count != *last)
      direction_ = time->count > *last ? Direction::forward : Direction::back;
    const bool in_order = direction_ == Direction::back ? time->count < *last : time->count > *last;
    if (!in_order) refuse_order(file, times, *time, *last);
  }
  if (time->offset != 0 && times.offsets.empty()) times.offsets.resize(times.at.size());
  times.at.push_back(time->count);
  if (time->offset != 0 || !times.offsets.empty()) times.offsets.push_back(time->offset);
}

}  // namespace unroll
