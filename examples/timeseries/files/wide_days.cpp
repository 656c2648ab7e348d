// Tables with a row a day and a column an hour or a time of day, or a row a week or month and a column a day. See series_columns.h.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "data/lower_case.h"
#include "examples/timeseries/files/cells.h"
#include "examples/timeseries/files/series_columns.h"
#include "examples/timeseries/files/tables.h"
#include "examples/timeseries/series/calendar.h"
#include "examples/timeseries/series/time_names.h"
#include "framework/check.h"
#include "framework/one_line.h"

namespace unroll {

namespace {

// Columns that are parts of a row's time, in their order.
struct Parts {
  const char *each, *name;                // "hour", and the column that holds it below
  std::vector<std::size_t> columns = {};  // by part
  std::vector<std::string> labels = {};   // of the parts: "1", "00:30"
  std::vector<std::size_t> flags = {};    // further columns by the same parts, which are left out
};

// H01 as ("h", 1); the number is -1 without one.
std::pair<std::string, int64_t> numbered(const std::string& name) {
  const std::size_t digits = name.find_first_of("0123456789");
  const bool is_number = digits != name.npos && name.size() - digits <= 2 &&
                         name.find_first_not_of("0123456789", digits) == name.npos;
  if (!is_number) return {"", -1};
  return {lower_case(name.substr(0, digits)),
          static_cast<int64_t>(parse_number(name.substr(digits)).value_or(-1))};
}

Parts hours_of(const CsvReader& csv, const std::vector<std::string>& names) {
  constexpr std::string_view prefixes = " h hr he hour hora heure stunde hour_ hour- hora_ h_ ";
  std::map<std::string, std::vector<std::size_t>> groups;  // by what stands before the number
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto [prefix, number] = numbered(names[i]);
    while (prefix.ends_with(' ')) prefix.pop_back();
    if (auto& group = groups[prefix]; number >= 0) group.push_back(i);
  }
  const auto is_day = [&](const std::vector<std::size_t>& group) {
    if (group.size() != 24) return false;
    const int64_t first = numbered(names[group[0]]).second;
    for (std::size_t i = 0; i < group.size(); ++i)
      if (numbered(names[group[i]]).second != first + static_cast<int64_t>(i)) return false;
    return first == 0 || first == 1;
  };
  Parts parts{"hour", "hour"};
  for (const auto& [prefix, group] : groups) {
    if (!is_day(group)) continue;
    const bool are_hours = prefix.empty() ? reads_as_date(cell_of(csv, 0))
                                          : prefixes.find(fmt::format(" {} ", prefix)) != prefixes.npos;
    if (are_hours && parts.columns.empty())
      parts.columns = group;
    else
      parts.flags.insert(parts.flags.end(), group.begin(), group.end());
  }
  for (const std::size_t i : parts.columns) parts.labels.push_back(std::to_string(numbered(names[i]).second));
  return parts;
}

Parts clocks_of(const std::vector<std::string>& names) {
  constexpr std::size_t least = 12;
  Parts parts{"time of day", "time of day"};
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i].find(':') < 3 && reads_as_date(fmt::format("2000-01-01 {}", names[i])))
      parts.columns.push_back(i), parts.labels.push_back(names[i]);
  const bool are_parts = parts.columns.size() >= least &&
                         std::set(parts.labels.begin(), parts.labels.end()).size() == parts.labels.size();
  return are_parts ? parts : Parts{};
}

// Each is a day after the one before, and the row's date the first one's.
Parts weekdays_of(const CsvReader& csv, const std::vector<std::string>& names) {
  constexpr std::size_t least = 5;
  Parts parts{"day", ""};
  int first = -1;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const int day = place_among(weekday_names, names[i]);
    if (day < 0) continue;
    if (first < 0) first = day;
    if (!is_name(weekday_names[(static_cast<std::size_t>(first) + parts.columns.size()) % 7], names[i]))
      return {};
    parts.columns.push_back(i), parts.labels.push_back("");
  }
  const bool has_date = parts.columns.size() >= least && parts.columns[0] > 0 && !csv.cells().empty();
  if (!has_date) return {};
  for (const DateOrder order : {DateOrder::day_first, DateOrder::month_first}) {
    CsvReader rows = csv;
    const bool all = each_row(rows, [&] {
      const auto time = parse_time(cell_of(rows, 0), order);
      return time && time->form == TimeForm::date && weekday_of(time->count) == first;
    });
    if (!all) continue;
    parts.name = order == DateOrder::day_first ? "day first" : "month first";
    return parts;
  }
  return {};
}

// Columns 1, 2, ... of days, and where a row's month stands: 2024-02, or beside its year.
struct MonthDays {
  std::vector<std::size_t> days = {};
  std::size_t year = 0, month = 0;  // the same column: 2024-02
  // The first day of the row's month.
  std::optional<Time> month_of(const std::function<std::string_view(std::size_t)>& cell) const {
    const std::string of_month(cell(month)), of_year(cell(year));
    const auto number = parse_time(of_month);
    const bool is_number = year != month && number && number->form == TimeForm::number;
    const auto time = parse_time(year == month ? of_month
                                 : is_number   ? fmt::format("{}-{:02}", of_year, number->count)
                                               : of_month + ' ' + of_year);
    return time && time->form == TimeForm::month ? time : std::nullopt;
  }
};

// No days: there are none, or a row's month is not read.
MonthDays month_days_of(const CsvReader& csv, const std::vector<std::string>& names) {
  constexpr std::string_view prefixes = "  d day day_ day- tag jour j dia día giorno dag ";
  MonthDays found;
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto [prefix, number] = numbered(names[i]);
    while (prefix.ends_with(' ')) prefix.pop_back();
    if (number != std::ssize(found.days) + 1 || prefixes.find(fmt::format(" {} ", prefix)) == prefixes.npos)
      continue;
    if (!found.days.empty() && i != found.days.back() + 1) return {};
    found.days.push_back(i);
  }
  constexpr std::size_t most_before = 6;
  if (found.days.size() < 28 || found.days.size() > 31 || found.days[0] > most_before) return {};
  for (found.year = 0; found.year < found.days[0]; ++found.year)
    for (found.month = 0; found.month < found.days[0]; ++found.month) {
      CsvReader rows = csv;
      if (each_row(rows, [&] {
            return found.month_of([&](std::size_t i) { return cell_of(rows, i); }) ||
                   says_total(cell_of(rows, 0));
          }))
        return found;
    }
  return {};
}

// One row a day of each month; columns beside the days and their month are repeated, but totals.
Table of_month_days(const Table& table, const MonthDays& parts) {
  Table rows;
  for (const auto& row : table) {
    const bool is_header = rows.empty();
    const auto cell = [&](std::size_t i) {
      return i < row.size() ? std::string_view(row[i]) : std::string_view();
    };
    const auto month = parts.month_of(cell);
    if (!is_header && !month) continue;
    for (std::size_t day = 0; day < (is_header ? 1 : parts.days.size()); ++day) {
      const std::string value(cell(parts.days[day]));
      const std::string date = is_header ? "date" : fmt::format("{}-{:02}", to_text(*month), day + 1);
      if (!is_header && !reads_as_date(date)) continue;  // no 30 February
      std::vector<std::string>& cells = rows.emplace_back(std::vector{date});
      for (std::size_t i = 0; i < std::min(row.size(), table[0].size()); ++i)
        if (i != parts.year && i != parts.month && !says_total(table[0][i]) &&
            (i < parts.days[0] || i > parts.days.back()))
          cells.push_back(row[i]);
      cells.push_back(is_header ? "value" : value);
    }
  }
  return rows;
}

// One row a part; columns beside the parts are repeated.
Table of_parts(const Table& table, const Parts& parts) {
  const bool are_days = parts.labels[0].empty();
  std::set<std::size_t> left_out(parts.columns.begin(), parts.columns.end());
  left_out.insert(parts.flags.begin(), parts.flags.end());
  const auto others_of = [&](const std::vector<std::string>& row) {
    std::vector<std::string> others;
    for (std::size_t i = 0; i < row.size(); ++i)
      if (!left_out.contains(i) && !(i < table[0].size() && says_total(table[0][i])))
        others.push_back(row[i]);
    return others;
  };
  Table rows;
  for (const auto& row : table) {
    const bool is_header = rows.empty();
    if (row.size() <= parts.columns[0]) continue;  // a remark
    for (std::size_t k = 0; k < (is_header ? 1 : parts.columns.size()); ++k) {
      std::vector<std::string>& cells = rows.emplace_back(others_of(row));
      const std::size_t at = parts.columns[k];
      if (!are_days) cells.push_back(is_header ? parts.name : parts.labels[k]);
      if (are_days && !is_header) {
        const DateOrder order = parts.name[0] == 'd' ? DateOrder::day_first : DateOrder::month_first;
        const auto date = parse_time(row[0], order);
        if (date) cells[0] = to_text({date->form, date->count + static_cast<int64_t>(k) * one_day});
      }
      cells.push_back(is_header ? "value" : at < row.size() ? row[at] : "");
    }
  }
  return rows;
}

}  // namespace

void require_no_wide_days(const CsvReader& csv, const std::vector<std::string>& names) {
  Parts parts = clocks_of(names);
  if (parts.columns.empty()) parts = hours_of(csv, names);
  if (parts.columns.empty()) parts = weekdays_of(csv, names);
  std::string totals;
  for (const std::string& name : names)
    if (says_total(name)) totals += fmt::format(", without '{}'", one_line(name));
  if (const MonthDays days = month_days_of(csv, names); !days.days.empty())
    refuse_table(fmt::format("{}:1: columns are days of a month: write one day a line", csv.origin()),
                 fmt::format("each day ('{}' to '{}') of a month is read as a row of its own{}",
                             one_line(names[days.days.front()]), one_line(names[days.days.back()]), totals),
                 csv.separator(), [days](const Table& table) { return of_month_days(table, days); });
  if (parts.columns.empty() || parts.columns.size() == names.size()) return;
  const std::string first = one_line(names[parts.columns.front()]),
                    last = one_line(names[parts.columns.back()]);
  std::string done =
      fmt::format("each {} ('{}' to '{}') is read as a row of its own{}", parts.each, first, last, totals);
  if (!parts.flags.empty())
    done += fmt::format(", without the columns '{}' to '{}'", one_line(names[parts.flags.front()]),
                        one_line(names[parts.flags.back()]));
  refuse_table(fmt::format("{}:1: columns are {}s ('{}' to '{}'): write one {} a line", csv.origin(),
                           parts.each, first, last, parts.each),
               done, csv.separator(), [parts](const Table& table) { return of_parts(table, parts); });
}

}  // namespace unroll
