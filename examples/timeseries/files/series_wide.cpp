// Tables that lie on their side: times stand in the first line. See series_columns.h.
#include <algorithm>
#include <array>
#include <cctype>
#include <functional>

#include <fmt/format.h>

#include "data/csv.h"
#include "examples/timeseries/files/cells.h"
#include "examples/timeseries/files/mend.h"
#include "examples/timeseries/files/series_columns.h"
#include "framework/one_line.h"

namespace unroll {
namespace {

using Table = std::vector<std::vector<std::string>>;

Table read_table(const std::string& text, char separator) {
  Table table;
  CsvReader csv(text, "", separator);
  while (csv.next()) table.emplace_back(csv.cells().begin(), csv.cells().end());
  return table;
}

std::string written(const Table& table, char separator) {
  std::string text;
  for (const auto& row : table) {
    for (std::size_t i = 0; i < row.size(); ++i)
      text += (i > 0 ? std::string(1, separator) : "") + csv_cell(row[i], separator);
    text += '\n';
  }
  return text;
}

[[noreturn]] void refuse_table(const std::string& message, const std::string& each, char separator,
                               const std::function<Table(const Table&)>& turned) {
  throw MendableFile(
      message,
      fmt::format("{} is read as a row of its own, and lines are counted in the table that this makes", each),
      [=](const std::string& text) { return written(turned(read_table(text, separator)), separator); });
}

// A name's part of a year: Jan, February, Enero; Q1.
std::optional<Time> part_of_year(const std::string& name) {
  const auto time = parse_time(name + " 2000");
  const bool is_part =
      time && name.find(' ') == name.npos &&
      (time->form == TimeForm::month ? name.find_first_of("0123456789") == name.npos
                                     : time->form == TimeForm::quarter && lower_case(name)[0] == 'q');
  return is_part ? time : std::nullopt;
}

bool is_year(std::string_view cell) {
  const auto time = parse_time(cell, TimeForm::year);
  return time && time->form == TimeForm::year;
}

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

// A row a year and a column a part of it. Totals stand in a column of their own, or a row.
Table of_years_down(const Table& table) {
  std::vector<std::pair<int64_t, std::vector<std::string>>> rows;
  std::size_t years = 0;
  while (years < table[0].size() &&
         !(table.size() > 1 && years < table[1].size() && is_year(table[1][years])))
    ++years;
  for (std::size_t k = 1; k < table.size(); ++k)
    for (std::size_t i = 0; i < std::min(table[0].size(), table[k].size()); ++i) {
      if (i == years || years >= table[k].size() || !is_year(table[k][years])) continue;
      const auto time = parse_time(table[0][i] + ' ' + table[k][years]);
      if (part_of_year(table[0][i]) && time) rows.push_back({time->count, {to_text(*time), table[k][i]}});
    }
  return in_order(std::move(rows), "value");
}

// A column a year and a row a part of it.
Table of_years_across(const Table& table) {
  std::vector<std::pair<int64_t, std::vector<std::string>>> rows;
  for (std::size_t k = 1; k < table.size(); ++k)
    for (std::size_t i = 1; i < std::min(table[0].size(), table[k].size()); ++i)
      if (const auto time = parse_time(table[k][0] + ' ' + table[0][i]); time && is_year(table[0][i]))
        rows.push_back({time->count, {to_text(*time), table[k][i]}});
  return in_order(std::move(rows), "value");
}

Table transposed(const Table& table) {
  Table turned(table[0].size());
  for (const auto& row : table)
    for (std::size_t i = 0; i < turned.size(); ++i) turned[i].push_back(i < row.size() ? row[i] : "");
  turned[0][0] = "time";
  return turned;
}

}  // namespace

void require_upright(const CsvReader& csv, const std::vector<std::string>& names,
                     const SeriesOptions& options) {
  const auto is_here = [&](const std::string& name) { return std::ranges::find(names, name) != names.end(); };
  const bool are_named = !options.channels.empty() || !options.known.empty();
  if (are_named && (!options.mend || std::ranges::any_of(options.channels, is_here))) return;
  const auto is_time = [](const std::string& name) {
    const auto time = parse_time(name, TimeForm::year);
    return reads_as_date(name) || (time && time->form != TimeForm::number);
  };
  constexpr std::ptrdiff_t most = 64;  // of a million names these tell enough
  const auto end = names.begin() + std::min(most, std::ssize(names));
  std::vector<std::string> parts;  // of a year
  std::vector<int64_t> counts;     // which of a year
  for (auto name = names.begin(); name != end; ++name)
    if (const auto part = part_of_year(*name); part && std::ranges::find(counts, part->count) == counts.end())
      parts.push_back(*name), counts.push_back(part->count);
  const std::string first_cell = csv.cells().empty() ? "" : std::string(csv.cells().front());
  if (std::ssize(parts) >= least_times && 3 * std::ssize(parts) >= end - names.begin()) {
    const char* const part = std::tolower(parts[0][0]) == 'q' ? "quarter" : "month";
    const std::string message = fmt::format(
        "{}:1: columns are {}s ('{}' to '{}'): write one {} a line, as {} and its value", csv.origin(), part,
        one_line(parts.front()), one_line(parts.back()), part, *part == 'q' ? "2017 Q1" : "2017-01");
    const auto is_other = [&](const std::string& name) { return !part_of_year(name) && !says_total(name); };
    const bool is_whole = std::ssize(parts) == (*part == 'q' ? 4 : 12);
    if (is_whole && is_other(names.front()) && std::count_if(names.begin(), end, is_other) <= 3 &&
        is_year(first_cell))
      refuse_table(message, fmt::format("each {} of a year", part), csv.separator(), of_years_down);
    throw InputError(message);
  }
  const auto count = std::count_if(names.begin(), end, is_time);
  if (count < least_times || 2 * count < end - names.begin()) return;
  const auto first = std::find_if(names.begin(), end, is_time);
  const auto part = part_of_year(first_cell);
  if (is_year(*first) && part) {
    const char* const time = part->form == TimeForm::month ? "month" : "quarter";
    refuse_table(
        fmt::format(
            "{}:1: columns are years, and rows their {}s: write one {} a line, as '{} {}' and its value",
            csv.origin(), time, time, one_line(first_cell), one_line(*first)),
        fmt::format("each {} of a year", time), csv.separator(), of_years_across);
  }
  const std::string message = fmt::format(
      "{}:1: the first line holds times, as '{}': transpose the table, so that each time has a line and each series "
      "a column",
      csv.origin(), one_line(*first));
  if (count + 1 < std::ssize(names) || is_time(names.front())) throw InputError(message);
  refuse_table(message, "each column of a time", csv.separator(), transposed);
}

}  // namespace unroll
