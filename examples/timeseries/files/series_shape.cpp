// Files with lines above their names, or whose times are not in one column. See series_columns.h.
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "examples/timeseries/files/cells.h"
#include "examples/timeseries/files/series_columns.h"
#include "framework/check.h"
#include "framework/one_line.h"

namespace unroll {
namespace {

// A number that makes a time finer, by the name of its column.
struct NumberPart {
  std::array<std::string_view, 4> names;
  TimeForm of;
  const char* joined;
};
constexpr std::array number_parts = {
    NumberPart{{"mon", "mois", "mes", "mês"}, TimeForm::year, "{}-{:02}"},
    NumberPart{{"week", "woche", "kw", "sem"}, TimeForm::year, "{}-W{:02}"},
    NumberPart{{"qua", "qtr", "quartal", "trim"}, TimeForm::year, "{} Q{}"},
    NumberPart{{"day", "tag", "jour", "dia"}, TimeForm::month, "{}-{:02}"},
    NumberPart{{"hour", "hr", "stunde", "heure"}, TimeForm::date, "{} {:02}:00"}};

bool says_one_of(const std::string& name, const std::array<std::string_view, 4>& words) {
  const std::string small = lower_case(name);
  return std::ranges::any_of(words, [&](auto word) { return small.find(word) != small.npos; });
}

// The time and the cell of another column, as one cell; "": the cell is no part of a time.
std::string joined(const Time& time, std::string_view cell, const std::string& name) {
  const std::string before = to_text({.form = time.form, .count = time.count});
  const auto number = parse_number(cell);
  if (!number) return fmt::format("{} {}", before, cell);
  const auto is_named = [&](const NumberPart& part) {
    return part.of == time.form && says_one_of(name, part.names);
  };
  const auto part = std::find_if(number_parts.begin(), number_parts.end(), is_named);
  if (part == number_parts.end() || *number != std::floor(*number) || *number < 0 || *number > 99) return "";
  return fmt::format(fmt::runtime(part->joined), before, static_cast<int>(*number));
}

// An hour may come twice where clocks are set back.
bool are_in_order(const std::vector<Time>& times) {
  std::size_t ascending = 0, descending = 0;
  for (std::size_t i = 1; i < times.size(); ++i)
    ascending += times[i].count > times[i - 1].count, descending += times[i].count < times[i - 1].count;
  return 100 * std::max(ascending, descending) >= 99 * (times.size() - 1);
}

// A column of times without gaps; empty: some cell is none.
template <class Read>
std::vector<Time> times_of(CsvReader csv, std::size_t place, const Read& read) {
  std::vector<Time> times;
  const bool all = each_row(csv, [&] {
    const std::optional<Time> time = read(cell_of(csv, place), times.size());
    if (time) times.push_back(*time);
    return time.has_value();
  });
  return all ? times : std::vector<Time>{};
}

// Whether years follow each other.
bool are_neighbours(const Time& a, const Time& b) {
  return a.form == TimeForm::year && b.form == a.form &&
         std::abs(calendar_of(a).year - calendar_of(b).year) == 1;
}

constexpr int least_times = 4;  // among names: fewer may be there by chance

// How many cells name columns, in a row that does so: words, and behind them years in turn. 0: it does not.
std::size_t count_names(const std::vector<std::string>& cells, char decimal) {
  std::size_t count = cells.size(), words = 0;
  while (count > 0 && cells[count - 1].empty()) --count;
  while (words < count && !cells[words].empty() && !reads_as_value(cells[words], decimal)) ++words;
  if (words == 0) return 0;
  for (std::size_t i = words; i < count; ++i) {
    const auto year = parse_time(cells[i], TimeForm::year), before = parse_time(cells[i - 1], TimeForm::year);
    const bool follows = i == words || (year && before && are_neighbours(*year, *before));
    if (!year || year->form != TimeForm::year || !follows) return 0;
  }
  return count - words > 0 && count - words < std::size_t{least_times} ? 0 : count;
}

}  // namespace

bool reads_as_value(const std::string& name, char decimal) {
  const bool with_digit = !name.empty() && name[0] >= '0' && name[0] <= '9';
  return written_number(name, {decimal, other_mark(decimal)}) || (!name.empty() && says_missing(name)) ||
         (with_digit && (reads_as_date(name) || looks_like_a_date(name)));
}

void require_names_first(CsvReader csv, const std::vector<std::string>& header,
                         const SeriesOptions& options) {
  constexpr int64_t most_lines = 20;
  const auto is_word = [&](const std::string& cell) {
    return !cell.empty() && !reads_as_value(cell, options.decimal);
  };
  const auto words = static_cast<std::size_t>(std::ranges::count_if(header, is_word));
  std::vector<std::string> names;  // of the line above
  int64_t line = 0, rows = 0, found = 0;
  each_row(csv, [&] {
    const std::vector<std::string> above = std::exchange(names, {csv.cells().begin(), csv.cells().end()});
    const std::size_t count = count_names(above, options.decimal);
    if (count > std::max<std::size_t>(words, 1) && names.size() >= count && names.size() <= above.size() &&
        !std::all_of(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(count), is_word))
      found = line;
    line = csv.line();
    return found == 0 && ++rows <= most_lines;
  });
  require_input(found == 0, "{}:1: '{}' names no columns, but line {} does: delete what is above it",
                csv.origin(), one_line(header.front()), found);
}

void require_upright(const CsvReader& csv, const std::vector<std::string>& names,
                     const SeriesOptions& options) {
  if (!options.channels.empty() || !options.known.empty()) return;
  const auto is_time = [](const std::string& name) {
    const auto time = parse_time(name, TimeForm::year);
    return reads_as_date(name) || (time && time->form != TimeForm::number);
  };
  constexpr std::ptrdiff_t most = 64;  // of a million names these tell enough
  const auto end = names.begin() + std::min(most, std::ssize(names));
  std::vector<std::string> parts;  // of a year: Jan, February; Q1
  std::vector<int64_t> counts;     // which of a year
  for (auto name = names.begin(); name != end; ++name) {
    const auto time = parse_time(name->substr(0, 3) + " 2000");
    const bool is_part = time && (time->form == TimeForm::month
                                      ? name->find_first_of("0123456789") == name->npos
                                      : time->form == TimeForm::quarter && lower_case(*name)[0] == 'q');
    if (is_part && std::ranges::find(counts, time->count) == counts.end())
      parts.push_back(*name), counts.push_back(time->count);
  }
  if (std::ssize(parts) >= least_times && 3 * std::ssize(parts) >= end - names.begin()) {
    const char* const part = std::tolower(parts[0][0]) == 'q' ? "quarter" : "month";
    throw InputError(fmt::format(
        "{}:1: columns are {}s ('{}' to '{}'): write one {} a line, as {} and its value", csv.origin(), part,
        one_line(parts.front()), one_line(parts.back()), part, *part == 'q' ? "2017 Q1" : "2017-01"));
  }
  const auto count = std::count_if(names.begin(), end, is_time);
  if (count < least_times || 2 * count < end - names.begin()) return;
  const auto first = std::find_if(names.begin(), end, is_time);
  const auto year = parse_time(*first, TimeForm::year);
  const auto part =
      parse_time(fmt::format("{} 2000", csv.cells().empty() ? "" : one_line(csv.cells().front())));
  const char* const times_of_year = part && part->form == TimeForm::month ? "month" : "quarter";
  if (year && year->form == TimeForm::year && part &&
      (part->form == TimeForm::month || part->form == TimeForm::quarter))
    throw InputError(fmt::format(
        "{}:1: columns are years, and rows their {}s: write one {} a line, as '{} {}' and its value",
        csv.origin(), times_of_year, times_of_year, one_line(csv.cells().front()), one_line(*first)));
  throw InputError(fmt::format(
      "{}:1: the first line holds times, as '{}': transpose the table, so that each time has a line and each series "
      "a column",
      csv.origin(), one_line(*first)));
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

void require_time_in_one_column(const SeriesText& file) {
  const SeriesColumns& columns = file.columns;
  const CsvReader csv = file.at_first_row();
  std::vector<std::size_t> found;
  std::vector<Time> times;
  std::string above;  // a year that stands only in the first row of several; "": each row has one
  for (std::size_t i = 0; i < columns.names.size() && times.empty(); ++i) {
    const bool is_named = says_one_of(columns.names[i], {"year", "yr", "jahr", "ann"});
    if (columns.time >= 0 && static_cast<int>(i) != columns.time) continue;
    std::optional<Time> last;
    std::size_t filled = 0;
    times = times_of(
        csv, i + columns.skipped, [&](std::string_view cell, std::size_t row) -> std::optional<Time> {
          if (columns.time >= 0) return columns.time_in(cell);
          if (says_missing(cell)) return ++filled, last;
          const auto time = parse_time(cell, TimeForm::year), before = std::exchange(last, time);
          if (is_named) return time;
          const bool follows = row == 0 || (filled > 0 && time && before && are_neighbours(*time, *before));
          return follows && time && time->form == TimeForm::year ? time : std::nullopt;
        });
    if (filled > 0 && 2 * filled < times.size()) times.clear();
    if (times.empty()) continue;
    found = {i};
    if (filled > 0)
      above =
          fmt::format("fill '{}' down, which only the first of several rows has", one_line(columns.names[i]));
  }
  std::string example;
  for (std::size_t i = 0; i < columns.names.size() && !times.empty() && !are_in_order(times); ++i) {
    if (std::find(found.begin(), found.end(), i) != found.end()) continue;
    std::string first;
    const std::vector<Time> finer = times_of(
        csv, i + columns.skipped, [&](std::string_view cell, std::size_t row) -> std::optional<Time> {
          const std::string text_of = row < times.size() ? joined(times[row], cell, columns.names[i]) : "";
          if (row == 0) first = text_of;
          const auto time = parse_time(text_of);
          return time && time->form > times[row].form ? time : std::nullopt;
        });
    if (finer.empty()) continue;
    times = finer, example = first;
    found.push_back(i), i = static_cast<std::size_t>(-1);  // a further part may stand before it
  }
  const bool is_whole = found.size() < 2 || !are_in_order(times);
  require_input(!is_whole || above.empty(), "{}: {}", csv.origin(), above);
  if (is_whole) return;
  std::vector<std::string> names;
  for (const std::size_t i : found) names.push_back("'" + one_line(columns.names[i]) + "'");
  throw InputError(fmt::format(
      "{}: the time stands in columns {}: {}write one column in their place, as {} in line {}", csv.origin(),
      listed(names), above.empty() ? "" : above + ", and ", one_line(example), csv.line()));
}

}  // namespace unroll
