// Tables that lie on their side: times stand in the first line. See series_columns.h.
#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "data/csv.h"
#include "data/lower_case.h"
#include "examples/timeseries/files/cells.h"
#include "examples/timeseries/files/mend.h"
#include "examples/timeseries/files/series_columns.h"
#include "examples/timeseries/files/tables.h"
#include "framework/one_line.h"

namespace unroll {

static bool reads_as_year(std::string_view cell) {
  const auto time = parse_time(cell, TimeForm::year);
  return time && time->form == TimeForm::year;
}

std::optional<int> first_of_years(std::string_view cell) {
  const std::size_t dash = cell.find_first_of("-/");
  if (dash != 4 || !reads_as_year(cell.substr(0, 4)) || (cell.size() != 7 && cell.size() != 9))
    return std::nullopt;
  const int first = static_cast<int>(parse_number(cell.substr(0, 4)).value_or(0)),
            of = cell.size() == 7 ? 100 : 10'000;
  return parse_number(cell.substr(5)) == (first + 1) % of ? std::optional(first) : std::nullopt;
}

namespace {

// A name's part of a year: Jan, February, Enero; Q1.
std::optional<Time> part_of_year(const std::string& name) {
  const auto time = parse_time(name + " 2000");
  const bool is_part =
      time && name.find(' ') == name.npos &&
      (time->form == TimeForm::month ? name.find_first_of("0123456789") == name.npos
                                     : time->form == TimeForm::quarter && lower_case(name)[0] == 'q');
  return is_part ? time : std::nullopt;
}

bool is_part_of_year(const std::string& name) { return part_of_year(name).has_value(); }

// Rows of a value, one for each time, in order; without those at both ends that have none.
Table in_order(std::vector<std::pair<int64_t, std::vector<std::string>>> rows, const std::string& name) {
  std::ranges::stable_sort(rows, {}, [](const auto& row) { return row.first; });
  const auto has_value = [](const auto& row) { return !says_missing(row.second[1]); };
  const auto first = std::ranges::find_if(rows, has_value);
  while (rows.end() != first && !has_value(rows.back())) rows.pop_back();
  Table table = {{"time", name}};
  for (auto row = first; row != rows.end(); ++row) table.push_back(row->second);
  return table;
}

// 2024, 2024 (p). Not FY2024, whose months may be of the year before.
bool names_a_year(const std::string& cell) {
  const std::string_view bare = without_mark(cell);
  return reads_as_year(bare) && parse_time("Jan " + std::string(bare));
}
// 2014/15, too.
bool names_years(const std::string& cell) { return names_a_year(cell) || first_of_years(cell); }

// A row a year and a column a part of it.
Table of_years_down(const Table& table) {
  std::vector<std::pair<int64_t, std::vector<std::string>>> rows;
  for (std::size_t k = 1; k < table.size(); ++k)
    for (std::size_t i = 1, at = 0; i < std::min(table[0].size(), table[k].size()); ++i) {
      if (!names_years(table[k][0])) continue;
      std::string year = table[k][0];
      if (const auto first = first_of_years(year)) {  // the months from January on are of the second one
        if (at == 0 && part_of_year(table[0][i])) at = i;
        const bool is_next = at > 0 && part_of_year(table[0][i]) &&
                             part_of_year(table[0][i])->count < part_of_year(table[0][at])->count;
        year = fmt::format("{}", *first + is_next);
      }
      const auto time = parse_time(table[0][i] + ' ' + year);
      if (part_of_year(table[0][i]) && time) rows.push_back({time->count, {to_text(*time), table[k][i]}});
    }
  return in_order(std::move(rows), "value");
}

// A column a year and a row a part of it.
Table of_years_across(const Table& table) {
  std::vector<std::pair<int64_t, std::vector<std::string>>> rows;
  for (std::size_t k = 1; k < table.size(); ++k)
    for (std::size_t i = 1; i < std::min(table[0].size(), table[k].size()); ++i) {
      const std::string year(without_mark(table[0][i]));
      const auto time = parse_time(table[k][0] + ' ' + year);
      if (time && names_a_year(year)) rows.push_back({time->count, {to_text(*time), table[k][i]}});
    }
  return in_order(std::move(rows), "value");
}

// The names behind the first one for which `is_read` is false; not empty ones.
std::vector<std::string> names_but(const std::vector<std::string>& names,
                                   const std::function<bool(const std::string& name)>& is_read) {
  std::vector<std::string> others;
  std::copy_if(names.begin() + 1, names.end(), std::back_inserter(others),
               [&](const std::string& name) { return !name.empty() && !is_read(name); });
  return others;
}

// "; column 'Total' is left out; line 7 is left out" and why the lines are: ": a remark".
std::string left_out(const std::vector<std::string>& columns, const std::set<int64_t>& lines,
                     const char* why = "") {
  std::string text;
  if (!columns.empty())
    text = fmt::format("; column{} '{}' {} left out", columns.size() > 1 ? "s" : "",
                       one_line(fmt::format("{}", fmt::join(columns, "', '"))),
                       columns.size() > 1 ? "are" : "is");
  return lines.empty() ? text : fmt::format("{}; {} left out{}", text, lines_are(lines), why);
}

// Throws MendableFile: a table of years and their parts is turned; columns `others` and lines whose first cell is not read are
// left out. Throws InputError if such a line has values and a cell with digits there, which may be a year.
[[noreturn]] void refuse_years(CsvReader csv, const std::string& message, const char* part,
                               const std::vector<std::string>& others,
                               const std::function<bool(const std::string& label)>& is_read,
                               Table (*turned)(const Table&)) {
  std::set<int64_t> lines;
  std::string refused;
  each_row(csv, [&] {
    const std::string label(cell_of(csv, 0));
    const auto numbers = std::count_if(csv.cells().begin() + 1, csv.cells().end(), [](const auto& cell) {
      return cell.find_first_of("0123456789") != cell.npos;
    });
    if (is_read(label) || numbers < 2) return;
    lines.insert(csv.line());
    if (refused.empty() && !says_total(label) && label.find_first_of("0123456789") != label.npos)
      refused = fmt::format(
          "{}:{}: '{}' is not read, though the line has values: write it as the other lines do, or delete the line",
          csv.origin(), csv.line(), one_line(label));
  });
  require_input(refused.empty(), "{}", refused);
  refuse_table(message,
               fmt::format("each {} of a year is read as a row of its own{}", part, left_out(others, lines)),
               csv.separator(), turned);
}

// Whether a row of a table of `width` columns has a value behind its words; else it is a title or a remark.
bool has_value(const auto& row, std::size_t words, std::size_t width) {
  const auto begin = row.begin() + static_cast<std::ptrdiff_t>(std::min(words, row.size()));
  return 2 * row.size() > width ? !std::all_of(begin, row.end(), says_missing)
                                : std::any_of(begin, row.end(), [](const auto& cell) {
                                    return written_number(cell, {}) || written_number(cell, {',', '.'});
                                  });
}

// The first `words` columns name each row's series, by the first that tells all apart and counts none, or those that change; `end`
// columns are read, and rows that have a value.
Table transposed(const Table& table, std::size_t words, std::size_t end) {
  Table rows = {table[0]};
  std::copy_if(table.begin() + 1, table.end(), std::back_inserter(rows),
               [&](const auto& row) { return has_value(row, words, table[0].size()); });
  std::vector<std::size_t> names;
  for (std::size_t i = 0; i < words && names.empty(); ++i) {
    std::set<std::string> different;
    const auto tells = [&](const auto& row) {
      return different.insert(row[i]).second && !written_number(row[i], {});
    };
    if (std::all_of(rows.begin() + 1, rows.end(), tells)) names.push_back(i);
  }
  const bool is_one = !names.empty();
  for (std::size_t i = 0; i < words && !is_one; ++i)
    if (std::any_of(rows.begin() + 1, rows.end(), [&](const auto& row) { return row[i] != rows[1][i]; }))
      names.push_back(i);
  if (names.empty()) names.push_back(0);
  Table turned(end - words + 1);
  for (const auto& row : rows) {
    std::string name;
    for (const std::size_t i : names) name += (name.empty() ? "" : " ") + row[i];
    turned[0].push_back(name);
    for (std::size_t i = words; i < end; ++i) turned[i - words + 1].push_back(i < row.size() ? row[i] : "");
  }
  turned[0][0] = "time";
  return turned;
}

}  // namespace

// Throws MendableFile if the same words stand before times in most names: Landings (t) 2017M01.
static void require_bare_times(const CsvReader& csv, const std::vector<std::string>& names) {
  const std::string& last = names.back();
  const std::size_t space = last.rfind(' ');
  if (space == last.npos || reads_as_date(last) || !reads_as_date(last.substr(space + 1))) return;
  const std::string words = last.substr(0, space + 1);
  const auto is_dated = [words](const std::string& name) {
    return name.starts_with(words) && reads_as_date(name.substr(words.size()));
  };
  const auto count = std::ranges::count_if(names, is_dated);
  if (count < least_times || 2 * count < std::ssize(names)) return;
  refuse_rows(fmt::format("{}:1: '{}' stands before the times in the first line: leave it out", csv.origin(),
                          one_line(words)),
              fmt::format("'{}' before the times in the first line is left out", one_line(words)),
              csv.separator(), [=, row = 0](std::vector<std::string>& cells, int64_t) mutable {
                for (std::string& cell : cells)
                  if (row == 0 && is_dated(cell)) cell.erase(0, words.size());
                ++row;
              });
}

// Throws if columns are months or quarters; the names up to `end` tell.
static void require_no_parts(const CsvReader& csv, const std::vector<std::string>& names,
                             std::vector<std::string>::const_iterator end) {
  std::vector<std::string> parts;  // of a year
  std::vector<int64_t> counts;     // which of a year
  for (auto name = names.begin(); name != end; ++name)
    if (const auto part = part_of_year(*name); part && std::ranges::find(counts, part->count) == counts.end())
      parts.push_back(*name), counts.push_back(part->count);
  if (std::ssize(parts) < least_times || 3 * std::ssize(parts) < end - names.begin()) return;
  const char* const part = std::tolower(parts[0][0]) == 'q' ? "quarter" : "month";
  const std::string message = fmt::format(
      "{}:1: columns are {}s ('{}' to '{}'): write one {} a line, as {} and its value", csv.origin(), part,
      one_line(parts.front()), one_line(parts.back()), part, *part == 'q' ? "2017 Q1" : "2017-01");
  const auto is_other = [&](const std::string& name) { return !part_of_year(name) && !says_total(name); };
  const bool is_whole = std::ssize(parts) == (*part == 'q' ? 4 : 12);
  if (is_whole && is_other(names.front()) && std::count_if(names.begin(), end, is_other) <= 3 &&
      names_years(std::string(cell_of(csv, 0))))
    refuse_years(csv, message, part, names_but(names, is_part_of_year), names_years, of_years_down);
  throw InputError(message);
}

void require_upright(const CsvReader& csv, const std::vector<std::string>& names,
                     const SeriesOptions& options, bool has_empty_end) {
  const auto is_here = [&](const std::string& name) { return std::ranges::find(names, name) != names.end(); };
  const bool are_named = !options.channels.empty() || !options.known.empty();
  if (are_named && (!options.mend || std::ranges::all_of(options.channels, is_here))) return;
  if (options.mend) require_bare_times(csv, names), require_no_wide_days(csv, names);
  const auto is_time = [](const std::string& name) {
    const std::string_view bare = without_mark(name);
    const auto time = parse_time(bare, TimeForm::year);
    return reads_as_date(bare) || (time && time->form != TimeForm::number);
  };
  constexpr std::ptrdiff_t most = 64;  // of a million names these tell enough
  const auto end = names.begin() + std::min(most, std::ssize(names));
  require_no_parts(csv, names, end);
  const auto count = std::count_if(names.begin(), end, is_time);
  if (count < least_times || 2 * count < end - names.begin()) return;
  const auto first = std::find_if(names.begin(), end, is_time);
  const std::string first_cell(cell_of(csv, 0));
  const auto part = part_of_year(first_cell);
  if (names_a_year(*first) && part) {
    const char* const time = part->form == TimeForm::month ? "month" : "quarter";
    const std::vector<std::string> others = names_but(names, names_a_year);
    const std::string message = fmt::format(
        "{}:1: columns are years, and rows their {}s: write one {} a line, as '{} {}' and its value",
        csv.origin(), time, time, one_line(first_cell), one_line(*first));
    for (const std::string& name : others)  // it may be a year
      require_input(says_total(name) || name.find_first_of("0123456789") == name.npos, "{}", message);
    refuse_years(csv, message, time, others, is_part_of_year, of_years_across);
  }
  const std::string message = fmt::format(
      "{}:1: the first line holds times, as '{}': transpose the table, so that each time has a line and each series "
      "a column",
      csv.origin(), one_line(*first));
  constexpr std::size_t most_words = 8;
  const bool is_unnamed = csv.cells().size() == names.size() + 1 + has_empty_end;  // the first column
  const std::size_t words = static_cast<std::size_t>(first - names.begin()) + is_unnamed;
  auto last = names.end();
  while (last != first && (says_total(last[-1]) || last[-1].empty())) --last;
  if (words == 0 || words > most_words || !std::all_of(first, std::min(last, end), is_time))
    throw InputError(message);
  const auto columns = static_cast<std::size_t>(last - names.begin()) + is_unnamed;
  std::set<int64_t> lines;
  CsvReader rows = csv;
  each_row(rows, [&] {
    if (!has_value(rows.cells(), words, names.size() + is_unnamed)) lines.insert(rows.line());
  });
  std::vector<std::string> others;
  std::copy_if(last, names.end(), std::back_inserter(others), [](const auto& name) { return !name.empty(); });
  refuse_table(
      message,
      "each column of a time is read as a row of its own" + left_out(others, lines, ": without a value"),
      csv.separator(), [=](const Table& table) { return transposed(table, words, columns); });
}

}  // namespace unroll
