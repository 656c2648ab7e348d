// Rows that are mended by what they hold together: their order, units, rows of nothing. See series_columns.h.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "examples/timeseries/files/cells.h"
#include "examples/timeseries/files/mend.h"
#include "examples/timeseries/files/series_columns.h"
#include "examples/timeseries/files/tables.h"
#include "examples/timeseries/series/calendar.h"
#include "examples/timeseries/series/time_names.h"
#include "framework/check.h"
#include "framework/one_line.h"

namespace unroll {

bool looks_like_a_year(std::string_view cell) {
  constexpr std::string_view digits = "0123456789";
  for (std::size_t begin = 0, end = 0; (begin = cell.find_first_of(digits, end)) != cell.npos;) {
    end = std::min(cell.find_first_not_of(digits, begin), cell.size());
    const double number = parse_number(cell.substr(begin, end - begin)).value_or(0);
    if (end - begin == 4 && ((1900 <= number && number <= 2100) || (2440 <= number && number <= 2640)))
      return true;  // Thailand's years, too
  }
  return looks_like_a_date(cell);
}

void require_no_blanks(const CsvReader& csv) {
  const auto bare = [](std::string_view name) {
    const std::size_t begin = name.find_first_not_of(' '), end = name.find_last_not_of(' ');
    return begin == name.npos ? std::string_view() : name.substr(begin, end - begin + 1);
  };
  for (const std::string_view name : csv.cells())
    if (name != bare(name))
      refuse_rows(fmt::format("{}:{}: blanks stand around the name '{}'", csv.origin(), csv.line(), name),
                  fmt::format("blanks around names are left out, as in '{}'", one_line(name)),
                  csv.separator(), [=, row = 0](std::vector<std::string>& cells, int64_t) mutable {
                    for (std::string& cell : cells)
                      if (row == 0) cell = std::string(bare(cell));
                    ++row;
                  });
}

void require_no_table_below(CsvReader csv, const std::string& name) {
  std::set<int64_t> lines;
  const int64_t header = csv.line() - 1;
  for (int64_t line = 1; line <= header; ++line) lines.insert(line);
  bool is_found = false;
  each_row(csv, [&] {
    const auto is_word = [](std::string_view cell) { return !reads_as_value(std::string(cell), '.'); };
    is_found = csv.cells().size() > 1 && std::ranges::find(csv.cells(), name) != csv.cells().end() &&
               std::ranges::all_of(csv.cells(), is_word);
    if (!is_found)
      for (int64_t line = *lines.rbegin() + 1; line <= csv.line(); ++line) lines.insert(line);
    return !is_found;
  });
  if (!is_found) return;
  refuse_lines(fmt::format("{}:{}: another table has the column '{}': delete what is above it", csv.origin(),
                           csv.line(), one_line(name)),
               std::move(lines), fmt::format("above the table that has '{}'", one_line(name)));
}

// Whether the times of all series together are a step apart, or days without weekends: a row of a wrong date leaves a gap.
static bool are_even(const std::set<std::pair<std::string, int64_t>>& times) {
  std::set<int64_t> all, apart;
  for (const auto& [series, time] : times) all.insert(time);
  for (auto at = all.begin(); at != all.end() && std::next(at) != all.end(); ++at)
    apart.insert(*std::next(at) - *at);
  if (apart.empty()) return false;
  const auto [least, most] = std::pair(*apart.begin(), *apart.rbegin());
  return 10 * most <= 12 * least || apart == std::set{one_day, 3 * one_day};
}

void require_sorted(const SeriesText& file, const std::string& message) {
  const SeriesColumns& columns = file.columns;
  const std::size_t place = columns.place(columns.time),
                    id = columns.id < 0 ? place : columns.place(columns.id);
  if (columns.order != DateOrder::unknown || columns.form == TimeForm::number) {
    const auto time = columns.time_in(file.cell(columns.time));
    if (columns.order != DateOrder::unknown || !time || time->form == TimeForm::number) return;
  }
  std::set<std::pair<std::string, int64_t>> times;
  int64_t rows = 0;
  CsvReader csv = file.at_first_row();
  const bool all = each_row(csv, [&] {
    const auto time = columns.time_in(cell_of(csv, place));
    if (time) times.emplace(id == place ? "" : cell_of(csv, id), time->count);
    return ++rows, time.has_value();
  });
  if (!all || std::ssize(times) < rows || !are_even(times)) return;
  const auto sorted = [form = columns.form, place](const Table& table) {
    Table rows = table;
    const auto time_of = [&](const std::vector<std::string>& row) {
      const auto time =
          place < row.size() ? time_in_column(row[place], form, DateOrder::unknown) : std::nullopt;
      return time ? time->count : 0;
    };
    std::stable_sort(rows.begin() + 1, rows.end(),
                     [&](const auto& a, const auto& b) { return time_of(a) < time_of(b); });
    return rows;
  };
  refuse_table(message, fmt::format("rows are sorted by {}", columns.called(columns.time)),
               file.csv.separator(), sorted);
}

void require_no_empty_rows(const SeriesText& file) {
  const SeriesColumns& columns = file.columns;
  if (columns.names.size() < 2) return;
  std::set<int64_t> lines;
  int64_t rows = 0;
  std::string title;
  CsvReader csv = file.at_first_row();
  each_row(csv, [&] {
    std::size_t filled = 0;
    bool has_value = false;
    for (const std::string_view cell : csv.cells()) filled += !cell.empty();
    for (const int column : columns.chosen) has_value |= !says_missing(cell_of(csv, columns.place(column)));
    ++rows;
    if (has_value || filled > 1 || (filled == 1 && cell_of(csv, 0).empty())) return;
    if (filled == 1 && title.empty()) title = cell_of(csv, 0);
    lines.insert(csv.line());
  });
  // A label beside an empty cell names a value that is missing.
  if (lines.empty() || 4 * std::ssize(lines) > rows || (columns.names.size() == 2 && !title.empty())) return;
  refuse_lines(
      fmt::format("{}:{}: the row is empty: delete it", csv.origin(), *lines.begin()), std::move(lines),
      title.empty() ? std::string("empty") : fmt::format("empty, or titles as '{}'", one_line(title, 30)));
}

void require_no_idle_weekday(const Series& series) {
  if (series.times.form != TimeForm::date) return;
  constexpr int64_t least_weeks = 4;
  std::array<int64_t, 7> rows{}, empty{};
  int64_t last = -1;  // row with a value
  const auto is_empty = [&](int64_t row) {
    for (int channel = 0; channel < series.width(); ++channel)
      if (!std::isnan(series.at(row, channel))) return false;
    return true;
  };
  for (int64_t row = 0; row < series.rows(); ++row)
    if (!is_empty(row)) last = row;
  for (int64_t row = 0; row <= last; ++row) {
    const auto day = static_cast<std::size_t>(weekday_of(series.times.at[row]));
    ++rows[day], empty[day] += is_empty(row);
  }
  std::set<int64_t> lines;
  std::array<bool, 7> is_idle{};
  for (std::size_t day = 0; day < 7; ++day) {
    is_idle[day] = rows[day] >= least_weeks && empty[day] == rows[day];
    if (!is_idle[day] && 10 * empty[day] > rows[day]) return;
  }
  for (int64_t row = 0; row < series.rows(); ++row)
    if (is_idle[static_cast<std::size_t>(weekday_of(series.times.at[row]))] && is_empty(row))
      lines.insert(series.lines[row]);
  if (lines.empty()) return;
  std::vector<std::string> idle;
  for (std::size_t day = 0; day < 7; ++day)
    if (is_idle[day]) idle.emplace_back(weekdays[day]);
  const std::string days = fmt::format("{}", fmt::join(idle, " or "));
  refuse_lines(
      fmt::format("{}:{}: no {} has a value: delete these rows", series.origin, *lines.begin(), days),
      std::move(lines), fmt::format("no {} has a value", days));
}

// How the cells of a column become numbers of one unit.
struct UnitMend {
  std::size_t place = 0;
  std::map<std::string, double, std::less<>> sizes = {};  // of each unit, in the usual one
  std::string done = {}, of = {};                         // "'%' of column 7"
};

// None: not all cells are numbers with a unit, or few are. Throws InputError: they have units of several kinds.
static std::optional<UnitMend> unit_mend(const SeriesText& file, int column, NumberMarks marks) {
  UnitMend mend{file.columns.place(column)};
  std::map<std::string, int64_t> units;
  CsvReader csv = file.at_first_row();
  const bool all = each_row(csv, [&] {
    const std::string_view cell = cell_of(csv, mend.place);
    if (says_missing(cell)) return true;
    const auto found = with_unit(cell, marks);
    if (found) ++units[std::string(found->second)];
    return found && found->second.size() <= 8;
  });
  if (!all || units.empty() || units.size() > 6 || (units.size() == 1 && units.contains(""))) return {};
  const auto usual = std::ranges::max_element(units, {}, [](const auto& unit) { return unit.second; })->first;
  const auto names_of_units = std::views::keys(units);
  mend.sizes = unit_sizes({names_of_units.begin(), names_of_units.end()});
  const double of_usual = mend.sizes.empty() ? 1 : mend.sizes.at(usual);
  for (auto& [name, size] : mend.sizes) size /= of_usual;
  int64_t rows = 0;
  std::vector<std::string> names;
  for (const auto& [name, count] : units)
    rows += count, names.push_back(name.empty() ? "none" : "'" + one_line(name) + "'");
  // A unit in few cells among numbers without may be a mistake.
  if (units.contains("") && (mend.sizes.empty() || 10 * std::min(units[""], rows - units[""]) < rows))
    return {};
  if (mend.sizes.empty())
    throw InputError(file.about(column, "its cells have several units, {}: write all with one, or without",
                                fmt::join(names, ", ")));
  const std::string called = file.columns.called(column);
  mend.of = fmt::format("{} of {}", fmt::join(names, " and "), called);
  mend.done = units.size() == 1
                  ? fmt::format("the unit {} behind the cells of {} is left out", names[0], called)
                  : fmt::format("{} has the units {}, and is read {}", called, fmt::join(names, ", "),
                                usual.empty() ? "without" : "in '" + one_line(usual) + "'");
  return mend;
}

void require_one_unit(const SeriesText& file, int column, const std::string& message) {
  const NumberMarks marks = {file.options.decimal, file.options.thousands};
  if (!unit_mend(file, column, marks)) return;
  std::vector<UnitMend> mends;
  for (const int of : file.columns.chosen)
    if (auto mend = unit_mend(file, of, marks)) mends.push_back(std::move(*mend));
  constexpr std::size_t most = 4;  // are named
  std::string done = mends[0].done;
  for (std::size_t k = 1; k < std::min(most, mends.size()); ++k)
    done += (k == 1 ? "; likewise " : ", ") + mends[k].of;
  if (mends.size() > most) done += fmt::format(" and {} more", mends.size() - most);
  refuse_rows(message, done, file.csv.separator(),
              [=, row = 0](std::vector<std::string>& cells, int64_t) mutable {
                if (row++ == 0) return;
                for (const UnitMend& mend : mends) {
                  const auto found = mend.place < cells.size() && !says_missing(cells[mend.place])
                                         ? with_unit(cells[mend.place], marks)
                                         : std::nullopt;
                  if (!found) continue;
                  const double size = mend.sizes.find(found->second)->second;
                  std::string number(found->first);
                  if (size != 1)
                    number = fmt::format("{:.9g}", size * written_number(number, marks)->value),
                    std::ranges::replace(number, '.', marks.decimal);
                  cells[mend.place] = number;
                }
              });
}

// 2004-01 for 2004/1; "": the cell is no month.
static std::string whole_month(std::string_view cell) {
  std::string month(cell);
  if (cell.size() == 6) month.insert(5, "0");
  const auto time = month.size() == 7 ? parse_time(month) : std::nullopt;
  if (!time || time->form != TimeForm::month) return "";
  month[4] = '-';
  return month;
}

static void require_whole_months(CsvReader csv, std::size_t place, const std::string& called) {
  constexpr int64_t least = 8;
  int64_t months = 0, others = 0, line = 0;
  std::string first, most;  // the first without a zero; the last of a year
  std::set<std::string> years;
  each_row(csv, [&] {
    const std::string cell(cell_of(csv, place)), month = whole_month(cell);
    if (month.empty()) return others += !cell.empty(), others <= least || 10 * others <= months;
    if (first.empty() && cell.size() < month.size()) first = cell, line = csv.line();
    ++months, most = std::max(most, month.substr(5)), years.insert(month.substr(0, 4));
    return true;
  });
  const bool are_quarters = most == "04" && years.size() > 1;
  if (first.empty() || months < least || 10 * others > months || !(are_quarters || most == "12")) return;
  const auto written = [are_quarters](const std::string& cell) {
    const std::string month = whole_month(cell);
    return are_quarters && !month.empty() ? fmt::format("{} Q{}", month.substr(0, 4), month.back())
           : month.empty()                ? cell
                                          : month;
  };
  refuse_rows(fmt::format("{}:{}: {}: '{}' is not a time: write {}", csv.origin(), line, called, first,
                          written(first)),
              fmt::format("{} in {} are read so: '{}' in line {} as {}", are_quarters ? "quarters" : "months",
                          called, first, line, written(first)),
              csv.separator(), [=](std::vector<std::string>& cells, int64_t) {
                if (place < cells.size()) cells[place] = written(cells[place]);
              });
}

void require_whole_months(const CsvReader& csv, const std::vector<std::string>& names) {
  if (std::ranges::any_of(csv.cells(), reads_as_date)) return;
  constexpr std::size_t most = 4;  // times stand in the first columns; each is read for itself
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i)
    require_whole_months(csv, i, fmt::format("column {} ('{}')", i + 1, one_line(names[i])));
}

// Half of N for "<N", N for ">N" or "> N"; none: it is no such cell.
static std::optional<double> at_limit(std::string_view cell, NumberMarks marks) {
  const std::string_view bare = without_limit(cell);
  const auto limit = bare == cell ? std::nullopt : written_number(bare, marks);
  return limit ? std::optional(cell[0] == '<' ? limit->value / 2 : limit->value) : std::nullopt;
}

void require_no_limits(const SeriesText& file, int column, const std::string& message) {
  const NumberMarks marks = {file.options.decimal, file.options.thousands};
  const std::string_view cell = file.cell(column);
  if (!at_limit(cell, marks)) return;
  refuse_rows(
      message,
      fmt::format("limits are read as numbers, '{}' in line {} as {}: below one as its half, above as itself",
                  one_line(cell), file.csv.line(), *at_limit(cell, marks)),
      file.csv.separator(), [=, row = 0](std::vector<std::string>& cells, int64_t) mutable {
        if (row++ == 0) return;
        for (std::string& of : cells)
          if (const auto value = at_limit(of, marks)) {
            of = fmt::format("{:.9g}", *value);
            std::ranges::replace(of, '.', marks.decimal);
          }
      });
}

void require_one_row_a_time(const SeriesText& file, const std::string& message) {
  const SeriesColumns& columns = file.columns;
  std::set<int64_t> lines, times;  // `times`: of the rows that stay
  bool are_single = true;
  const auto each_row_of = [&](bool valued) {
    CsvReader csv = file.at_first_row();
    return each_row(csv, [&] {
      const auto is_missing = [&](int column) { return says_missing(cell_of(csv, columns.place(column))); };
      const auto time = columns.time_in(cell_of(csv, columns.place(columns.time)));
      if (std::ranges::all_of(columns.chosen, is_missing) == valued) return true;
      const bool is_new = time && times.insert(time->count).second;
      if (!is_new && !valued) lines.insert(csv.line());
      are_single = are_single && (is_new || !valued);
      return time.has_value();
    });
  };
  const bool all = each_row_of(true) && each_row_of(false);
  if (all && are_single && !lines.empty())
    refuse_lines(message, std::move(lines),
                 fmt::format("without a value in {}, and other rows have their times",
                             columns.called(columns.chosen[0])));
}

void require_same_form(const SeriesText& file, const std::string& message) {
  constexpr int64_t most = 3;
  std::set<int64_t> lines;
  CsvReader csv = file.csv;
  std::string first(cell_of(csv, 0));
  bool same = false;
  each_row(csv, [&] {
    const auto time = file.columns.time_in(cell_of(csv, file.columns.place(file.columns.time)));
    same = time && time->form >= TimeForm::month;
    lines.insert(csv.line());
    return !same && std::ssize(lines) <= most;
  });
  if (!same && std::ssize(lines) <= most)
    refuse_lines(message, std::move(lines), fmt::format("below the rows, as '{}'", one_line(first, 30)));
}

}  // namespace unroll
