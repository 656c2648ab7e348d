// Files with lines above their names. See series_columns.h.
#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "examples/timeseries/files/cells.h"
#include "examples/timeseries/files/mend.h"
#include "examples/timeseries/files/series_columns.h"
#include "framework/check.h"
#include "framework/one_line.h"

namespace unroll {
namespace {

// How many cells name columns, in a row that does so: words, and behind them years in turn. 0: it does not.
std::size_t count_names(const std::vector<std::string>& cells, char decimal) {
  std::size_t count = cells.size(), words = 0;
  while (count > 0 && cells[count - 1].empty()) --count;
  // A gap may stand between the names of two tables.
  while (words < count &&
         (cells[words].empty() ? words > 0 || count > 2 : !reads_as_value(cells[words], decimal)))
    ++words;
  if (words == 0 || (words == 1 && cells[0].empty())) return 0;
  std::size_t times = count;  // behind the last one
  while (times > words && says_total(cells[times - 1])) --times;
  const auto is_time = [](const std::string& cell) {  // 2024M08*, 00:30
    return reads_as_date(without_mark(cell)) || (cell.find(':') < 3 && reads_as_date("2000-01-01 " + cell));
  };
  if (times >= words + least_times &&
      std::all_of(cells.begin() + static_cast<std::ptrdiff_t>(words),
                  cells.begin() + static_cast<std::ptrdiff_t>(times), is_time))
    return count;
  for (std::size_t i = words; i < count; ++i) {
    const auto year = parse_time(cells[i], TimeForm::year), before = parse_time(cells[i - 1], TimeForm::year);
    const bool follows = i == words || (year && before && are_neighbours(*year, *before));
    if (!year || year->form != TimeForm::year || !follows) return 0;
  }
  return count - words > 0 && count - words < std::size_t{least_times} ? 0 : count;
}

}  // namespace

bool is_empty_column(CsvReader csv, std::size_t place) {
  bool empty = true;
  each_row(csv, [&] { return empty = cell_of(csv, place).empty(); });
  return empty;
}

bool numbers_rows(CsvReader csv) {
  bool are_years = true;
  const bool all = each_row(csv, [&] {
    const auto number = parse_time(cell_of(csv, 0)), year = parse_time(cell_of(csv, 0), TimeForm::year);
    are_years = are_years && year && year->form == TimeForm::year;
    return number && number->form == TimeForm::number;
  });
  return all && !are_years;
}

bool is_constant_column(CsvReader csv, std::size_t place) {
  const std::string cell(cell_of(csv, place));
  int64_t rows = 0;
  return each_row(csv, [&] { return ++rows, cell_of(csv, place) == cell; }) && rows > 1;
}

bool reads_as_value(const std::string& name, char decimal) {
  const bool with_digit = !name.empty() && name[0] >= '0' && name[0] <= '9';
  return written_number(name, {decimal, other_mark(decimal)}) || (!name.empty() && says_missing(name)) ||
         (with_digit && (reads_as_date(name) || looks_like_a_date(name)));
}

// The line of names below up to 20 rows that have more cells than any of a table that follows: it has words alone, and eight rows below
// it have as many cells, of the first three one with a value. 0: there is none.
template <class IsWord>
static int64_t line_of_table(CsvReader csv, std::size_t cells_above, const IsWord& is_word) {
  constexpr int64_t most_above = 20, least_rows = 8;
  int64_t line = 0, above = 0, rows = 0;  // of the table so far
  std::size_t width = 0;
  bool has_value = false;
  each_row(csv, [&] {
    const std::size_t cells = csv.cells().size();
    if (cells == 1 && csv.cells()[0].empty()) return true;
    if (cells == cells_above) return width = 0, rows = 0, line = 0, ++above <= most_above;
    if (cells != width || rows == 0) {
      const bool are_names =
          cells > 1 && cells < cells_above &&
          std::ranges::all_of(csv.cells(), [&](auto cell) { return is_word(std::string(cell)); });
      width = cells, rows = are_names, line = are_names ? csv.line() : 0, has_value = false;
      return ++above <= most_above;
    }
    constexpr int64_t most_units = 2;  // rows of units
    if (++rows <= 2 + most_units)
      has_value |= !std::ranges::all_of(csv.cells(), [&](auto cell) { return is_word(std::string(cell)); });
    return rows <= least_rows;
  });
  return rows > least_rows && has_value ? line : 0;
}

static bool repeats(const std::vector<std::string>& cells) {
  std::set<std::string> different;
  return !std::ranges::all_of(
      cells, [&](const auto& cell) { return cell.empty() || different.insert(cell).second; });
}

// Whether all cells but empty ones are the same.
static bool are_alike(const std::vector<std::string>& cells) {
  std::set<std::string> different(cells.begin(), cells.end());
  different.erase("");
  return different.size() == 1;
}

// Throws InputError if the reader's row, the first below the names, has units: nothing but words, and numbers below them.
static void require_no_units(CsvReader csv, const std::vector<std::string>& names) {
  if (std::ranges::all_of(csv.cells(), [](const auto& cell) { return cell.empty(); }) && !csv.next()) return;
  const std::vector<std::string> units(csv.cells().begin(), csv.cells().end());
  const int64_t line = csv.line();
  const auto is_unit = [&](const std::string& cell) {
    return says_missing(cell) || !(reads_as_value(cell, '.') || reads_as_value(cell, ','));
  };
  if (!std::ranges::all_of(units, is_unit) || !csv.next()) return;
  for (std::size_t i = 0; i < std::min({names.size(), units.size(), csv.cells().size()}); ++i)
    for (const char mark : {'.', ','})
      if (!says_missing(units[i]) && written_number(csv.cells()[i], {mark, other_mark(mark)})) {
        if (units != names && units.size() == names.size() && repeats(names))  // it tells them apart
          refuse_rows(fmt::format("{}:{}: two lines name the columns: write one", csv.origin(), line),
                      fmt::format("the names go on in line {}, as '{}' below '{}'", line, one_line(units[i]),
                                  one_line(names[i])),
                      csv.separator(), [=](std::vector<std::string>& cells, int64_t at) {
                        if (cells == names)
                          for (std::size_t k = 0; k < cells.size(); ++k)
                            cells[k] += (units[k].empty() ? "" : " ") + units[k];
                        else if (at == line || (at < line && std::ranges::all_of(cells, &std::string::empty)))
                          cells.clear();
                      });
        refuse_lines(
            fmt::format(
                "{}:{}: column {} ('{}'): '{}' is not a number; line {} looks like a row of units: delete it",
                csv.origin(), line, i + 1, one_line(names[i]), one_line(units[i]), line),
            {line},
            units == names ? "the names again" : fmt::format("it holds units, as '{}'", one_line(units[i])));
      }
}

// Throws MendableFile if the reader's row, the first below the names, counts the columns: 1, 2, 3.
static void require_no_count(CsvReader csv, std::size_t names) {
  constexpr std::size_t least = 3;
  const int64_t line = csv.line();
  const auto counts_from = [&](std::size_t first) {
    for (std::size_t i = 0; i < csv.cells().size(); ++i)
      if (parse_number(csv.cells()[i]) != static_cast<double>(first + i)) return false;
    return csv.cells().size() == names && names >= least;
  };
  if (!counts_from(1) || !csv.next() || parse_number(csv.cells()[0])) return;  // else it may be a row
  refuse_lines(fmt::format("{}:{}: the line counts the columns: delete it", csv.origin(), line), {line},
               "it counts the columns");
}

// Whether a row has as many cells as names, words or nothing, and none in the first column.
static bool is_subheading(const std::vector<std::string>& names, const std::vector<std::string>& row,
                          char decimal) {
  return row.size() == names.size() && row[0].empty() && std::ranges::find(names, "") == names.end() &&
         std::ranges::none_of(row,
                              [&](auto& cell) { return !cell.empty() && reads_as_value(cell, decimal); });
}

// Whether a row between names and values is a heading, with one cell, which the row may end with, or below all names but the first,
// or has units, of which two are the same.
static bool stands_between(const std::vector<std::string>& names, const std::vector<std::string>& row,
                           std::size_t count, char decimal) {
  const auto filled = std::ranges::count_if(row, [](const auto& cell) { return !cell.empty(); });
  return is_subheading(names, row, decimal) ||
         (row.size() == names.size() && filled == 1 && !reads_as_value(row[0], decimal)) ||
         (row.size() == 2 && names.size() > 2 && row[0].empty() && filled == 1 &&
          !reads_as_value(row[1], decimal)) ||
         (count_names(row, decimal) == count && repeats(row) &&
          (!repeats(names) || (are_alike(row) && !are_alike(names))));
}

// Whether the row says how wide columns are: 5s 15s 20d, as the tables of the United States' rivers do.
static bool names_widths(const CsvReader& csv) {
  return csv.count() > 2 && std::ranges::all_of(csv.cells(), [](std::string_view cell) {
           return cell.size() > 1 && std::string_view("sdn").find(cell.back()) != cell.npos &&
                  parse_number(cell.substr(0, cell.size() - 1));
         });
}

// Throws MendableFile: the names stand in this line.
[[noreturn]] static void refuse_above(int64_t names, const std::string& message) {
  std::set<int64_t> lines;
  for (int64_t line = 1; line < names; ++line) lines.insert(line);
  refuse_lines(message, std::move(lines), fmt::format("{}{}", above_the_names, names));
}

// Throws MendableFile if the names are alike, and one of the next rows has others that differ.
static void require_telling_names(CsvReader csv, const std::vector<std::string>& names) {
  constexpr int64_t most_rows = 6;
  int64_t rows = 0, found = 0;
  if (!are_alike(names) || std::ranges::count(names, "") + 2 > std::ssize(names)) return;
  each_row(csv, [&] {
    const std::vector<std::string> now(csv.cells().begin(), csv.cells().end());
    bool fits = now.size() == names.size() && !repeats(now);
    for (std::size_t i = 0; fits && i < now.size(); ++i)
      fits = now[i].empty() == names[i].empty() && !reads_as_value(now[i], '.');
    if (fits) found = csv.line();
    return !fits && ++rows < most_rows;
  });
  if (found > 0)
    refuse_above(found,
                 fmt::format("{}:1: the names are alike, those in line {} are not", csv.origin(), found));
}

// Throws MendableFile if the line above the names, of which some are alike, has headings of them: Arrivals above Home, Abroad, All. An
// empty cell there has the heading on its left.
static void require_no_headings(CsvReader csv, const std::vector<std::string>& header, int64_t found) {
  std::vector<std::string> above = found == 2 ? header : std::vector<std::string>{}, names;
  each_row(csv, [&] {
    if (csv.line() == found - 1) above.assign(csv.cells().begin(), csv.cells().end());
    if (csv.line() == found) names.assign(csv.cells().begin(), csv.cells().end());
    return csv.line() < found;
  });
  if (above.size() != names.size() || !repeats(names)) return;
  std::set<std::string> headings, joined;
  std::size_t example = names.size();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (above[i].empty() && !names[i].empty() && i > 0) above[i] = above[i - 1];
    if (!above[i].empty() && (reads_as_value(above[i], '.') || names[i].empty())) return;
    if (!above[i].empty()) headings.insert(above[i]), example = std::min(example, i);
    if (!names[i].empty() && !joined.insert(above[i] + " " + names[i]).second) return;
  }
  if (headings.size() < 2) return;
  refuse_rows(fmt::format("{}:{}: two lines name the columns: write one", csv.origin(), found - 1),
              fmt::format("the names in line {} stand below headings, and are read as '{} {}'", found,
                          one_line(above[example]), one_line(names[example])),
              csv.separator(), [=](std::vector<std::string>& cells, int64_t at) {
                if (at < found) cells.clear();
                for (std::size_t i = 0; at == found && i < cells.size(); ++i)
                  if (!above[i].empty()) cells[i] = above[i] + " " + cells[i];
              });
}

void require_names_first(CsvReader csv, const std::vector<std::string>& header,
                         const SeriesOptions& options) {
  constexpr int64_t most_lines = 20, least_rows = 8;
  const auto is_word = [&](const std::string& cell) {
    return !cell.empty() && !reads_as_value(cell, options.decimal);
  };
  const auto is_value = [&](const std::string& cell) {
    return !cell.empty() &&
           (reads_as_value(cell, options.decimal) || (options.mend && reads_as_value(cell, ',')));
  };
  std::size_t most =
      std::max({static_cast<std::size_t>(std::ranges::count_if(header, is_word)),  // names so far
                count_names(header, options.decimal), std::size_t{1}});
  std::vector<std::string> names;  // of the line above
  int64_t line = 1, rows = 0, found = 0;
  bool has_gap = false, is_dated = false;  // above the names; a row above them may be one of values
  const CsvReader csv_at_first = csv;
  each_row(csv, [&] {
    if (csv.count() == 1 && (csv.cells()[0].empty() || csv.cells()[0].starts_with('#'))) return true;
    if (options.mend && names_widths(csv)) return true;
    const std::vector<std::string> above = std::exchange(names, {csv.cells().begin(), csv.cells().end()});
    const std::size_t count = count_names(above, options.decimal);
    if (count > most && stands_between(above, names, count, options.decimal)) {
      names = above;
      return ++rows <= most_lines;
    }
    const bool is_total = names.size() == above.size() + 1 && says_total(names.back());
    const bool is_below = found == 0 && has_gap && !is_dated && reads_as_value(names[0], options.decimal) &&
                          !is_subheading(header, above, options.decimal);
    const bool are_new = count > most || (is_below && count == header.size() && count == above.size() &&
                                          (repeats(header) || !repeats(above)));
    has_gap = csv.line() > line + 1;
    is_dated = is_dated || reads_as_value(names[0], options.decimal);
    if (are_new && names.size() >= count && (names.size() <= above.size() || is_total) &&
        std::any_of(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(count), is_value))
      found = line, most = count, rows = most_lines - least_rows;
    line = csv.line();
    return ++rows <= most_lines;  // a table of a few rows may stand above that of the series, too
  });
  if (found == 0) found = line_of_table(csv_at_first, header.size(), is_word);
  if (found == 0) {
    if (options.mend || options.channels.empty()) require_one_form(csv_at_first, header, options);
    if (options.mend) require_telling_names(csv_at_first, header);
    require_no_count(csv_at_first, header.size());
    require_no_units(csv_at_first, header);
    if (options.time.empty() || options.time == header[0]) {
      if (options.mend) require_no_split_years(csv_at_first, header);
      require_whole_months(csv_at_first, header);
      require_times_from_first_row(csv_at_first, fmt::format("column 1 ('{}')", one_line(header[0])));
    }
    return;
  }
  if (options.mend) require_no_headings(csv_at_first, header, found);
  refuse_above(found, fmt::format("{}:1: '{}' names no columns, but line {} does: delete what is above it",
                                  csv.origin(), one_line(header.front()), found));
}

void refuse_empty_column(CsvReader csv, std::size_t place) {
  const std::size_t width = csv.cells().size();
  bool is_table = false;
  for (std::size_t i = place; i < width; ++i)
    is_table = is_table || reads_as_date(std::string(csv.cells()[i]));
  int64_t left = 0, right = 0, rows = 0, last_left = 0,
          last_right = 0;  // rows with a cell there, and the last of them
  const std::string origin = csv.origin();
  const char separator = csv.separator();
  each_row(csv, [&] {
    ++rows;
    for (std::size_t i = 0; i < csv.cells().size(); ++i)
      if (!csv.cells()[i].empty()) {
        ++(i < place ? left : right);
        (i < place ? last_left : last_right) = rows;
        i = i < place ? place - 1 : csv.cells().size();
      }
  });
  const bool is_shorter =
      left < right ? 2 * left < right && last_left == left : 2 * right < left && last_right == right;
  is_table = is_table || (place + 1 < width && is_shorter);  // a column of a few remarks has gaps
  is_table = is_table && left > 0 && right > 0;
  const bool is_end = right == 0;  // no column behind it has a cell either
  const std::size_t from = is_table && left < right ? 0 : place - 1,
                    to = (is_table && left >= right) || is_end ? width : place;  // the columns that go
  refuse_rows(fmt::format("{}:1: column {} has no name: name it, or delete it if it is empty", origin, place),
              is_table     ? fmt::format("two tables stand beside each other: columns {} to {} are left out",
                                         from + 1, to)
              : to > place ? fmt::format("columns {} to {} are left out: they are empty", place, to)
                           : fmt::format("column {} is left out: it is empty", place),
              separator, [=](std::vector<std::string>& cells, int64_t) {
                const auto end = cells.begin() + static_cast<std::ptrdiff_t>(std::min(to, cells.size()));
                cells.erase(cells.begin() + static_cast<std::ptrdiff_t>(std::min(from, cells.size())), end);
                if (std::ranges::all_of(cells, &std::string::empty)) cells.clear();
              });
}

void require_no_split_numbers(CsvReader csv, std::size_t names) {
  if (csv.separator() != ',' || csv.quoted()[0]) return;
  const auto consists_of = [](std::string_view cell, const char* letters) {
    return !cell.empty() && cell.find_first_not_of(letters) == cell.npos;
  };
  constexpr int64_t least = 8;
  std::vector<std::size_t> digits;               // by cell; 0: it is no second one
  std::vector<std::set<std::string>> different;  // flags have two values
  for (const std::string_view cell : csv.cells()) digits.push_back(cell.size() <= 2 ? cell.size() : 0);
  const int64_t line = csv.line();
  different.resize(digits.size());
  int64_t rows = 0;
  do {
    for (std::size_t k = 0; k < std::min(digits.size(), csv.cells().size()); ++k) {
      const std::string_view cell = csv.cells()[k];
      if (k < 2 || cell.size() != digits[k] || !consists_of(cell, "0123456789") ||
          !consists_of(csv.cells()[k - 1], "-0123456789"))
        digits[k] = 0;
      if (digits[k] > 0 && different[k].size() < 3) different[k].emplace(cell);
    }
    ++rows;
  } while (std::ranges::any_of(digits, [](std::size_t d) { return d > 0; }) && csv.next());
  bool is_split = false;
  for (std::size_t k = 0; k < digits.size(); ++k) is_split |= digits[k] > 0 && different[k].size() > 2;
  require_input(
      rows < least || !is_split,
      "{}:{}: the row has {} cells, the header {}: {}; if the first column has no name, give it one",
      csv.origin(), line, digits.size(), names, split_by_decimal_commas);
}

}  // namespace unroll
