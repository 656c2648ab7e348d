// The columns of a file without a recipe, as their cells show them.
#pragma once

#include <algorithm>
#include <cctype>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "data/csv.h"
#include "data/lower_case.h"
#include "examples/timeseries/files/cells.h"
#include "examples/timeseries/files/series_columns.h"
#include "examples/timeseries/guess/repeats_time.h"
#include "framework/one_line.h"

namespace timeseries {

using namespace unroll;

// A cell as mends leave it, but for a limit's half.
inline std::string_view bare(std::string_view cell) { return without_limit(without_mark(cell)); }

// Whether a name is that of a counter: entry_id, Invoice No., OrderID.
inline bool names_a_counter(const std::string& name) {
  std::string last = lower_case(name.substr(name.find_last_of(" _-") + 1));
  if (last.ends_with('.')) last.pop_back();
  constexpr std::string_view words = " id no nr nummer index idx # ";
  const bool is_joined = name.size() > 2 && std::islower(static_cast<unsigned char>(name[name.size() - 3]));
  return words.find(fmt::format(" {} ", last)) != words.npos || last.ends_with("nummer") ||
         (is_joined && (name.ends_with("ID") || name.ends_with("Id")));
}

// The column of which this is a flag by its name: Temp of "Temp quality", "Temp QC" and "Temp 品質情報". "": it is none's.
inline std::string flagged_by(const std::string& name) {
  const std::size_t blank = name.find_last_of(" _-");
  constexpr std::string_view words = " quality flag flags qc 品質情報 均質番号 現象なし情報 ";
  const bool is_flag =
      blank != name.npos && words.find(fmt::format(" {} ", lower_case(name.substr(blank + 1)))) != words.npos;
  return is_flag ? name.substr(0, blank) : "";
}

// Adds columns that are left out for one reason: a few by name.
inline void add_together(std::vector<std::string>& out, const std::vector<std::string>& names,
                         const char* why, const char* why_of_many) {
  constexpr std::size_t most_said = 4;
  if (names.size() > most_said)
    return out.push_back(fmt::format("{}, {} and {} others ({})", one_line(names[0]), one_line(names[1]),
                                     names.size() - 2, why_of_many));
  for (const std::string& name : names) out.push_back(fmt::format("{} ({})", one_line(name), why));
}

struct Column {
  std::string name;
  bool is_first = false;
  int64_t numbers = 0, missing = 0, others = 0;
  std::string other = {};  // the first cell that is no number, or not of the unit of those above it
  int64_t other_line = 0;
  std::string mend = {};
  std::set<std::string> words = {};  // the first four different ones
  std::optional<std::string_view> unit = {};
  bool are_measured = true;          // the cells that are no numbers alone have a unit
  std::set<std::string> units = {};  // of these
  NumberOrder order = {};
  bool changes = false, counts_up = true;  // 1, 2, 3, …: it numbers the rows
  bool follows = true;                     // each number is one above that of the row before
  double last = 0;
  int64_t open = 0;        // cells at the end of time without a value, or at their begin
  bool has_begun = false;  // a cell has a value
  std::map<std::string, double, std::less<>> last_of = {};  // by series
  RepeatsTime repeats = {};

  // `series`: the row's; `newest_first`: the rows stand so.
  void add(std::string_view cell, int64_t line, NumberMarks marks, std::string_view series,
           bool newest_first) {
    const auto number = written_number(cell, marks);
    order.add(number ? std::optional(number->value) : std::nullopt);
    if (number && !unit) unit = number->unit;
    if (number && *unit == number->unit) {
      const double value = number->value;
      follows = follows && (numbers == 0 || value == last + 1);
      counts_up = counts_up && (numbers == 0 ? value == 0 || value == 1 : value == last + 1);
      note_change(series, value);
      last = value, has_begun = true;
      if (!newest_first) open = 0;
      ++numbers;
      return;
    }
    counts_up = follows = false;
    const bool is_missing = !number && says_missing(cell);
    ++(is_missing ? missing : others), open += !newest_first || !has_begun;
    if (!is_missing && words.size() < 4) words.emplace(cell);
    if (!is_missing && other_line == 0)
      other = cell, other_line = line, mend = how_to_mend(cell, marks, numbers > 0);
    if (!is_missing && are_measured) add_unit(cell, marks, series);
  }
  // Whether its cells are numbers with units of one kind behind them.
  bool is_measured() const { return numbers == 0 && are_measured && !unit_sizes(units).empty(); }

 private:
  void note_change(std::string_view series, double value) {
    if (changes) return;
    const auto before = last_of.find(series);
    changes = before != last_of.end() && before->second != value;
    if (before == last_of.end()) last_of.emplace(series, value);
  }
  void add_unit(std::string_view cell, NumberMarks marks, std::string_view series) {
    constexpr std::size_t most_units = 6, longest = 8;
    const auto found = with_unit(cell, marks);
    are_measured = found && !found->second.empty() && found->second.size() <= longest;
    if (!are_measured) return;
    units.emplace(found->second), are_measured = units.size() <= most_units;
    note_change(series, written_number(found->first, marks)->value);
  }
};

// Whether it is one of numbers but for a cell or two, or few words that are mended: reading it says which.
inline bool is_of_numbers_nearly(const Column& column, bool mend) {
  if (column.others <= 2) return column.others > 0 && column.numbers >= 8 * column.others;
  return mend && column.mend.empty() && column.numbers >= column.others &&
         are_few_words(column.others, std::ssize(column.words),
                       column.numbers + column.missing + column.others);
}

// Every column but those of times and of series' names.
class FileColumns {
 public:
  FileColumns(const std::string& text, const std::string& origin, const SeriesOptions& options)
      : first_row_(text, origin, options.separator) {
    SeriesOptions open = options;
    open.known = open.channels, open.channels.clear();
    const SeriesColumns found = read_columns(first_row_, open);
    has_time = found.time >= 0 || found.id >= 0;
    if (found.id >= 0) id_ = found.place(found.id);
    if (found.time >= 0) find_direction(found), times_ = found;
    for (size_t i = 0; i < found.names.size(); ++i) {
      if (const auto at = static_cast<int>(i); at == found.time || at == found.id || at == found.only)
        continue;
      columns.push_back({.name = found.names[i], .is_first = i == 0 && found.skipped == 0});
      places_.push_back(i + static_cast<size_t>(found.skipped));
    }
  }
  // The row's series; "": the file has one.
  std::string_view series_of(const CsvReader& csv) const {
    return id_ ? cell_of(csv, *id_) : std::string_view();
  }
  template <class Use>
  void each_cell(const Use& use) const {
    CsvReader csv = first_row_;
    do {
      for (size_t c = 0; c < columns.size(); ++c)
        if (places_[c] < csv.cells().size()) use(c, csv.cells()[places_[c]], csv);
    } while (csv.next());
  }

  // The time of the reader's row. None: it has none, or counts.
  std::optional<Time> time_of(const CsvReader& csv) const {
    const auto time = times_ ? times_->time_in(cell_of(csv, times_->place(times_->time))) : std::nullopt;
    return time && time->form != TimeForm::number ? time : std::nullopt;
  }

  // Shows each column its cells.
  void look(const SeriesOptions& options) {
    const NumberMarks marks = {options.decimal, options.thousands};
    std::optional<Time> now;
    each_cell([&](size_t c, std::string_view cell, const CsvReader& csv) {
      if (c == 0 && std::ranges::any_of(columns, [](const Column& column) { return column.repeats.may(); }))
        now = time_of(csv);
      if (options.mend) cell = bare(cell);
      if (now && columns[c].repeats.may() && !says_missing(cell)) {
        const auto number = written_number(cell, marks);
        columns[c].repeats.add(number ? number->value : std::numeric_limits<double>::quiet_NaN(), *now);
      }
      columns[c].add(cell, csv.line(), marks, series_of(csv), newest_first);
    });
  }

  std::vector<Column> columns;
  bool has_time = false, newest_first = false;

 private:
  // By the first times that differ.
  void find_direction(const SeriesColumns& found) {
    std::optional<int64_t> first;
    CsvReader csv = first_row_;
    each_row(csv, [&] {
      const auto time = found.time_in(cell_of(csv, found.place(found.time)));
      if (time && first) newest_first = time->count < *first;
      if (time && !first) first = time->count;
      return !time || time->count == *first;
    });
  }

  std::optional<SeriesColumns> times_;
  std::optional<size_t> id_;  // the column that names the series
  CsvReader first_row_;
  std::vector<size_t> places_;  // of the columns, in a row
};

}  // namespace timeseries
