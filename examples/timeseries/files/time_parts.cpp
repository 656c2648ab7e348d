// Files whose times do not stand in one column: a date and an hour, a year and a month. See series_columns.h.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "examples/timeseries/files/cells.h"
#include "examples/timeseries/files/mend.h"
#include "examples/timeseries/files/series_columns.h"
#include "examples/timeseries/series/calendar.h"
#include "examples/timeseries/series/time_names.h"
#include "framework/check.h"
#include "framework/one_line.h"

namespace unroll {

// Whether years follow each other.
bool are_neighbours(const Time& a, const Time& b) {
  return a.form == TimeForm::year && b.form == a.form &&
         std::abs(calendar_of(a).year - calendar_of(b).year) == 1;
}

namespace {

// A number that makes a time finer, by the name of its column.
struct NumberPart {
  std::array<std::string_view, 8> names;
  TimeForm of;
  const char* joined;
};
constexpr std::array number_parts = {
    NumberPart{{"mon", "mois", "mes", "mês", "maand", "mån", "월"}, TimeForm::year, "{}-{:02}"},
    NumberPart{{"week", "woche", "kw", "sem", "wk", "veck", "uke", "주"}, TimeForm::year, "{}-W{:02}"},
    NumberPart{{"qua", "qtr", "trim", "kwarta", "분기", "季度", "四半期"}, TimeForm::year, "{} Q{}"},
    NumberPart{{"day", "tag", "jour", "dia", "dag", "día", "일"}, TimeForm::month, "{}-{:02}"},
    NumberPart{{"hour", "hr", "stunde", "heure", "hora", "시간"}, TimeForm::date, "{} {:02}:00"}};

bool says_one_of(const std::string& name, const std::array<std::string_view, 8>& words) {
  const std::string small = lower_case(name);
  return std::ranges::any_of(words,
                             [&](auto word) { return !word.empty() && small.find(word) != small.npos; });
}
bool is_called_year(const std::string& name) {
  return lower_case(name) == "ano" ||
         says_one_of(name, {"year", "yr", "jahr", "ann", "año", "jaar", "연도"}) ||
         says_one_of(name, {"rok", "年"}) || lower_case(name).ends_with("år");
}

// The time and the cell of another column, as one cell; "": the cell is no part of a time.
std::string joined(const Time& time, std::string_view cell, const std::string& name) {
  const std::string before = to_text({.form = time.form, .count = time.count});
  const auto number = parse_number(cell);
  if (!number) return fmt::format("{} {}", before, begin_of_interval(cell).value_or(cell));
  const auto is_named = [&](const NumberPart& part) {
    const bool is_hour_ending = part.of == TimeForm::date && lower_case(name) == "he";
    return part.of == time.form && (is_hour_ending || says_one_of(name, part.names));
  };
  const auto part = std::find_if(number_parts.begin(), number_parts.end(), is_named);
  if (part == number_parts.end() || *number != std::floor(*number) || *number < 0 || *number > 99) return "";
  return fmt::format(fmt::runtime(part->joined), before, static_cast<int>(*number));
}

// Whether times tell the rows apart, whatever their order; an hour may come twice where clocks are set back. `several`: each of some
// series has a row at most times.
bool tell_apart(const std::vector<Time>& times, bool several) {
  std::size_t ascending = 0, descending = 0;
  std::map<int64_t, std::size_t> rows;  // by time
  for (std::size_t i = 1; i < times.size(); ++i)
    ascending += times[i].count > times[i - 1].count, descending += times[i].count < times[i - 1].count;
  for (const Time& time : times) ++rows[time.count];
  if (!several)
    return rows.size() == times.size() || 100 * std::max(ascending, descending) >= 99 * (times.size() - 1);
  const auto most = std::ranges::max_element(rows, {}, [](const auto& of) { return of.second; })->second;
  return rows.size() * most <= times.size() + times.size() / 8;
}

// Q1 of Q1 (Apr-Jun), 1 of 1月.
std::string_view bare_part(std::string_view cell) {
  for (const std::string_view month : {"月", "월"})
    if (cell.ends_with(month)) cell.remove_suffix(month.size());
  return cell.substr(0, cell.find(" ("));
}

// How a year's part is written whose numbers go from 1 to 4, 12, or 52 or 53, in each year but the first and the last, all equally
// often; "": they do not.
const char* parts_of_year(CsvReader csv, std::size_t place, const std::vector<Time>& times) {
  std::map<int64_t, std::map<int64_t, int64_t>> parts;  // rows of each, by year
  std::size_t row = 0;
  const bool all = each_row(csv, [&] {
    const double number = parse_number(bare_part(cell_of(csv, place))).value_or(0);
    if (number < 1 || number > 53 || number != std::floor(number) || row >= times.size()) return false;
    return ++parts[times[row++].count][static_cast<int64_t>(number)] > 0;
  });
  if (!all || parts.size() < 3) return "";
  int64_t least = 53, most = 1;
  for (auto year = std::next(parts.begin()); year != std::prev(parts.end()); ++year) {
    const int64_t last = year->second.rbegin()->first, each = year->second.begin()->second;
    if (std::ssize(year->second) != last) return "";
    if (std::ranges::any_of(year->second, [&](const auto& part) { return part.second != each; })) return "";
    least = std::min(least, last), most = std::max(most, last);
  }
  return least == 4 && most == 4     ? "{} Q{}"
         : least == 12 && most == 12 ? "{}-{:02}"
         : least >= 52               ? "{}-W{:02}"
                                     : "";
}

// Whether the rows of one time differ by a word: a column that is none of `found` names their series.
bool words_tell_apart(const CsvReader& csv, int skipped, std::size_t columns, const std::vector<Time>& times,
                      const std::vector<std::size_t>& found) {
  for (std::size_t i = 0; i < columns; ++i) {
    if (std::ranges::find(found, i) != found.end()) continue;
    CsvReader rows = csv;
    std::set<std::pair<int64_t, std::string>> different;
    std::size_t row = 0;
    const bool all = each_row(rows, [&] {
      const std::string_view cell = cell_of(rows, i + static_cast<std::size_t>(skipped));
      return row < times.size() && !says_missing(cell) && !parse_number(cell) && !written_number(cell, {}) &&
             different.emplace(times[row++].count, cell).second;
    });
    if (all) return true;
  }
  return false;
}

// How many parts, numbered 1, 2, ..., a day mostly has. 0: a tenth of the days or more has another number.
int64_t parts_of_day(CsvReader csv, std::size_t place, const std::vector<Time>& times) {
  std::map<int64_t, std::set<int64_t>> parts;  // by day
  std::size_t row = 0;
  const bool all = each_row(csv, [&] {
    const double number = parse_number(cell_of(csv, place)).value_or(0);
    if (number < 1 || number > 300 || number != std::floor(number) || row >= times.size()) return false;
    parts[times[row++].count].insert(static_cast<int64_t>(number));
    return true;
  });
  for (const int64_t count : {24, 48, 96, 288}) {
    const auto is_whole = [&](const auto& day) {
      return std::ssize(day.second) == count && *day.second.rbegin() == count;
    };
    if (all && 10 * std::ranges::count_if(parts, is_whole) > 9 * std::ssize(parts)) return count;
  }
  return 0;
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

}  // namespace

// The month's name in 06. Junho, whose number says the same; "": the cell is no such thing.
static std::string_view numbered_month(std::string_view cell) {
  const std::size_t name = cell.find_first_not_of("0123456789.-/ ");
  const auto number = parse_number(cell.substr(0, cell.find_first_not_of("0123456789")));
  if (name == cell.npos || name == 0 || !number) return "";
  const auto month = parse_time(fmt::format("{} 2000", cell.substr(name)));
  const bool is_same = month && month->form == TimeForm::month && calendar_of(*month).month == *number;
  return is_same ? cell.substr(name) : "";
}

// Whether a year has a week 53 that it lacks where weeks begin on Mondays.
static bool are_weeks_from_sunday(CsvReader csv, std::size_t place, const std::vector<Time>& years) {
  bool found = false;
  std::size_t row = 0;
  each_row(csv, [&] {
    found = found || (cell_of(csv, place) == "53" && !parse_time(to_text(years[row]) + "-W53"));
    return ++row < years.size();
  });
  return found;
}

// The times with the cells of another column beside them; empty: these are no parts of them. `first`: the first one as it is joined.
static std::vector<Time> finer_times(const CsvReader& csv, std::size_t place, const std::string& name,
                                     const std::vector<Time>& times, std::string& first) {
  CsvReader rows = csv;
  const bool are_numbered = times[0].form == TimeForm::year &&
                            each_row(rows, [&] { return !numbered_month(cell_of(rows, place)).empty(); });
  const int64_t parts = times[0].form == TimeForm::date ? parts_of_day(csv, place, times) : 0;
  const char* const of_year = times[0].form == TimeForm::year ? parts_of_year(csv, place, times) : "";
  const bool from_sunday = times[0].form == TimeForm::year && are_weeks_from_sunday(csv, place, times);
  std::string above;  // of several rows with one time the first may have the cell alone
  return times_of(csv, place, [&](std::string_view cell, std::size_t row) -> std::optional<Time> {
    if (row >= times.size()) return std::nullopt;
    if (!says_missing(cell))
      above = cell;
    else if (row > 0 && times[row].count == times[row - 1].count)
      cell = above;
    if (are_numbered) cell = numbered_month(cell);
    cell = bare_part(cell);
    std::string text = joined(times[row], cell, name);
    if (text.empty() && *of_year)
      text = fmt::format(fmt::runtime(of_year), to_text(times[row]),
                         static_cast<int>(parse_number(cell).value_or(0)));
    if (parts > 0 && text.empty()) {
      const auto part = static_cast<int64_t>(parse_number(cell).value_or(1)) - 1;
      text = to_text({TimeForm::date_time, times[row].count + part * (one_day / parts)});
    }
    if (from_sunday && text.find("-W") != text.npos)
      if (const auto day =
              week_from_sunday(calendar_of(times[row]).year, static_cast<int>(*parse_number(cell))))
        text = to_text({TimeForm::date, *day});
    if (row == 0) first = text;
    auto time = parse_time(text);
    if (!time && times[row].form == TimeForm::year)  // Sun 5 Jan
      time = parse_time(fmt::format("{} {}", cell, to_text(times[row])));
    return time && time->form > times[row].form ? time : std::nullopt;
  });
}

// Writes times by row into the first of some columns, and takes the others out.
static RowEdit in_place(const std::vector<Time>& times, std::vector<std::size_t> columns) {
  std::ranges::sort(columns.begin() + 1, columns.end(), std::greater());
  return [=, row = std::size_t{0}](std::vector<std::string>& cells, int64_t) mutable {
    if (row > 0 && row <= times.size() && columns[0] < cells.size())
      cells[columns[0]] = to_text(times[row - 1]);
    ++row;
    for (auto i = columns.begin() + 1; i != columns.end(); ++i)
      if (*i < cells.size()) cells.erase(cells.begin() + static_cast<std::ptrdiff_t>(*i));
  };
}

// Throws MendableFile: a column of words that look like dates, or of months or the like by its name, has totals among them.
static void require_no_dated_totals(const SeriesText& file) {
  constexpr int most_columns = 4;
  for (int i = 0; i < std::min<int>(most_columns, static_cast<int>(file.columns.names.size())); ++i) {
    const bool is_part = std::ranges::any_of(
        number_parts, [&](const NumberPart& part) { return says_one_of(file.columns.names[i], part.names); });
    std::set<int64_t> lines;
    std::string first;
    int64_t rows = 0, dated = 0;
    CsvReader csv = file.at_first_row();
    each_row(csv, [&] {
      const std::string_view cell = cell_of(csv, file.columns.place(i));
      ++rows, dated += looks_like_a_date(cell) || (is_part && parse_number(cell).value_or(99) <= 53);
      if (!says_total(cell)) return;
      if (lines.empty()) first = cell;
      lines.insert(csv.line());
    });
    if (lines.empty() || 2 * dated < rows || 10 * (dated + std::ssize(lines)) < 9 * rows) continue;
    refuse_lines(fmt::format("{}:{}: {}: '{}' holds a total of other rows: delete such lines", csv.origin(),
                             *lines.begin(), file.columns.called(i), one_line(first)),
                 std::move(lines), fmt::format("'{}' is a total", one_line(first)));
  }
}

// column 1 ('Year'); without its name where the first column has none.
static std::string called_in(const CsvReader& csv, const std::vector<std::string>& names, std::size_t place) {
  const bool are_named = names.size() == csv.cells().size();
  return fmt::format("column {}{}", place + 1,
                     are_named ? fmt::format(" ('{}')", one_line(names[place])) : "");
}

void require_no_marked_times(const CsvReader& csv, const std::vector<std::string>& names) {
  constexpr std::size_t most = 4;                   // columns: an item, a year, its month
  const auto is_time = [](std::string_view cell) {  // or a part of one: 2, Feb, Q1
    return parse_time(cell, TimeForm::year) || first_of_years(cell) || reads_as_date(cell) ||
           is_duration(cell) || place_among(month_names, cell) >= 0 ||
           parse_time(std::string(cell) + " 2000");
  };
  const std::size_t columns = csv.cells().size();
  for (std::size_t place = 0; place < std::min(most, columns); ++place) {
    if (!is_time(without_mark(csv.cells()[place]))) continue;
    CsvReader rows = csv;
    const bool none = each_row(rows, [&] {
      const std::string_view cell = cell_of(rows, place), bare = without_mark(cell);
      return bare == cell || is_time(cell) || !is_time(bare);
    });
    const std::string called = called_in(csv, names, place);
    if (!none)
      require_no_marks(rows, called, place, is_time,
                       fmt::format("{}:{}: {}: '{}' is not a time: delete the mark", csv.origin(),
                                   rows.line(), called, one_line(cell_of(rows, place))));
  }
}

void require_no_split_years(const CsvReader& csv, const std::vector<std::string>& names) {
  constexpr std::size_t most = 4, least_years = 3;     // columns
  const auto is_month = [](const std::string& name) {  // a school's year goes over two
    const auto time = parse_time(name + " 2000");
    return time && time->form == TimeForm::month;
  };
  if (std::ranges::any_of(names, is_month)) return;
  for (std::size_t place = 0; place < std::min(most, csv.cells().size()); ++place) {
    const std::string example(csv.cells()[place]);
    std::set<int> years;
    CsvReader rows = csv;
    const bool all =
        first_of_years(example) && each_row(rows, [&] {
          const std::string_view cell = cell_of(rows, place);
          const auto filled = std::ranges::count_if(rows.cells(), [](const auto& of) { return !of.empty(); });
          if (const auto year = first_of_years(cell)) return years.insert(*year), true;
          return says_missing(cell) || filled < 2 || says_total(cell);  // or a remark below the rows
        });
    if (!all || years.size() < least_years || *years.rbegin() - *years.begin() >= std::ssize(years)) continue;
    const std::string called = called_in(csv, names, place);
    refuse_rows(fmt::format("{}:{}: {}: '{}' is two years: write the first alone", csv.origin(), csv.line(),
                            called, one_line(example)),
                fmt::format("{} is read by the first of its two years, '{}' in line {} as {}", called,
                            one_line(example), csv.line(), *first_of_years(example)),
                csv.separator(), [=, row = 0](std::vector<std::string>& cells, int64_t) mutable {
                  if (row++ == 0 || place >= cells.size()) return;
                  if (const auto year = first_of_years(cells[place])) cells[place] = std::to_string(*year);
                });
  }
}

// The column of dates or years that the other parts of a time make finer; no times: there is none.
struct CoarseTimes {
  std::size_t column = 0;
  std::vector<Time> times = {};
  std::string above = {};  // a year that stands only in the first row of several; "": each row has one
};
static CoarseTimes coarse_times(const CsvReader& csv, const SeriesColumns& columns) {
  CoarseTimes found;
  std::vector<Time>& times = found.times;
  for (std::size_t i = 0; i < columns.names.size() && times.empty(); ++i) {
    const bool is_named = is_called_year(columns.names[i]);
    if (columns.time >= 0 && static_cast<int>(i) != columns.time) continue;
    std::optional<Time> last;
    std::size_t filled = 0;
    times = times_of(
        csv, i + columns.skipped, [&](std::string_view cell, std::size_t row) -> std::optional<Time> {
          if (says_missing(cell)) return ++filled, last;
          const auto time = columns.time >= 0 ? columns.time_in(cell) : parse_time(cell, TimeForm::year),
                     before = std::exchange(last, time);
          if (is_named || columns.time >= 0) return time;
          const bool stays =
              filled == 0 && time && before && time->form == before->form && time->count == before->count;
          const bool follows = row == 0 || stays || (time && before && are_neighbours(*time, *before));
          return follows && time && time->form == TimeForm::year ? time : std::nullopt;
        });
    if (filled > 0 && 2 * filled < times.size()) times.clear();
    if (times.empty()) continue;
    found.column = i;
    if (filled > 0)
      found.above =
          fmt::format("fill '{}' down, which only the first of several rows has", one_line(columns.names[i]));
  }
  return found;
}

void require_time_in_one_column(const SeriesText& file) {
  const SeriesColumns& columns = file.columns;
  if (file.options.mend && columns.id < 0) require_no_dated_totals(file);
  const bool several = columns.id >= 0;
  const CsvReader csv = file.at_first_row();
  auto [coarse, times, above] = coarse_times(csv, columns);
  if (std::ranges::all_of(
          times, [](const Time& of) { return of.form == TimeForm::date_time && time_of_day(of.count) == 0; }))
    for (Time& time : times) time = in_form(time, TimeForm::date);  // as databases write dates
  std::vector<std::size_t> found;
  if (!times.empty()) found = {coarse};
  std::string example;
  for (bool is_finer = !times.empty(); is_finer && (several || !tell_apart(times, several));) {
    std::vector<Time> finest;  // with the month, of a month and its quarter
    std::string its_first, first;
    std::size_t of = 0;
    for (std::size_t i = 0; i < columns.names.size(); ++i) {
      if (std::find(found.begin(), found.end(), i) != found.end()) continue;
      auto finer = finer_times(csv, i + columns.skipped, columns.names[i], times, first);
      if (!finer.empty() && (finest.empty() || finer[0].form > finest[0].form))
        finest = std::move(finer), its_first = first, of = i;
    }
    if ((is_finer = !finest.empty())) times = std::move(finest), example = its_first, found.push_back(of);
  }
  const bool is_whole =
      found.size() < 2 || !(tell_apart(times, several) ||
                            words_tell_apart(csv, columns.skipped, columns.names.size(), times, found));
  if (is_whole && (above.empty() || columns.time >= 0)) return;
  std::vector<std::string> names;
  for (const std::size_t i : found) names.push_back("'" + one_line(columns.names[i]) + "'");
  for (std::size_t& i : found) i += static_cast<std::size_t>(columns.skipped);
  if (is_whole)
    refuse_rows(fmt::format("{}: {}", csv.origin(), above),
                fmt::format("{} is filled down: only the first of several rows has it", names[0]),
                csv.separator(), in_place(times, {found[0]}));
  refuse_rows(
      fmt::format("{}: the time stands in columns {}: {}write one column in their place, as {} in line {}",
                  csv.origin(), listed(names), above.empty() ? "" : above + ", and ", one_line(example),
                  csv.line()),
      fmt::format("the time stands in columns {}, and is read as {} in line {}", listed(names),
                  to_text(times[0]), csv.line()),
      csv.separator(), in_place(times, found));
}

}  // namespace unroll
