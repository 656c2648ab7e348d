// Finds the order of day and month in dates whose year comes last. See series_columns.h.
#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "examples/timeseries/files/cells.h"
#include "examples/timeseries/files/series_columns.h"
#include "framework/check.h"
#include "framework/one_line.h"

namespace unroll {
namespace {

// A column of dates, read in one order.
struct Reading {
  DateOrder order;
  TimeForm form = TimeForm::date;
  std::vector<int64_t> at = {};
  int64_t alone = 0;      // cells that are dates only in this order
  std::string cell = {};  // the first such cell
  int64_t line = 0;       // its line

  bool ascends() const { return std::ranges::adjacent_find(at, std::greater_equal{}) == at.end(); }
  bool descends() const { return std::ranges::adjacent_find(at, std::less_equal{}) == at.end(); }
  // How many rows do not follow the previous one by the step found.
  int64_t uneven() const {
    std::vector<int64_t> rows = at;
    if (descends()) std::ranges::reverse(rows);
    const TimeStep step = find_step(form, rows).step;
    int64_t count = 0;
    for (std::size_t i = 1; i < rows.size(); ++i) count += time_after(rows[i - 1], step, 1) != rows[i];
    return count;
  }
  bool is_even() const { return uneven() == 0; }
};

// The reading to choose, and why; nullptr: nothing tells them apart.
const Reading* chosen(const Reading& a, const Reading& b, std::string& why) {
  if (a.alone > 0 || b.alone > 0) {
    const Reading& found =
        a.alone >= b.alone ? a : b;  // cells of the other order are errors when rows are read
    why = fmt::format("as '{}' in line {} shows", one_line(found.cell), found.line);
    return &found;
  }
  // Most files ascend. Descending counts only if neither order makes the rows ascend.
  for (const auto& [ordered, word] :
       {std::pair(&Reading::ascends, "ascend"), {&Reading::descends, "descend"}}) {
    const bool is_first = (a.*ordered)();
    if (is_first != (b.*ordered)()) {
      why = fmt::format("in no other order do they {}", word);
      return is_first ? &a : &b;
    }
    if (is_first) break;
  }
  if (a.at == b.at) return &a;
  if (!a.ascends() && !a.descends()) return nullptr;
  const bool even = a.is_even();
  if (even == b.is_even()) return nullptr;
  why = "in no other order are they evenly spaced";
  return even ? &a : &b;
}

// Years of two digits stand last for sure where what stands first changes more often (25/01/13 may begin with one), or a day
// stands between.
struct ShortYears {
  std::string cell = {};  // the first with one
  int64_t line = 0;
  bool day_between = false;
  int64_t firsts = 0, years = 0;  // how often these change
  std::string_view first = {};
  int year = 0;

  void add(std::string_view text, const Time& time, int64_t at_line) {
    const int now = calendar_of(time).year;
    if (cell.empty() && text.find(std::to_string(now)) == text.npos) cell = text, line = at_line;
    const std::string_view begin = text.substr(0, text.find_first_of("/-., "));
    if (!first.empty()) firsts += begin != first, years += now != year;
    first = begin, year = now;
    const std::string_view rest = text.substr(std::min(begin.size() + 1, text.size()));
    const auto middle = plain_decimal(rest.substr(0, rest.find_first_of("/-., ")), '.');
    day_between = day_between || (plain_decimal(begin, '.') && middle.value_or(0) > 12);
  }
  bool are_last() const { return cell.empty() || day_between || years < firsts; }
};

// The reading of a logger's times that is even but for a row or two, where the others are not by far; nullptr: there is none.
const Reading* even_alone(const Reading& a, const Reading& b, const Reading& year_first) {
  constexpr std::size_t least_rows = 96;
  constexpr int64_t most = 2, least_of_others = 8;
  const int64_t of_a = a.uneven(), of_b = b.uneven();
  const bool is_clock = a.form == TimeForm::date_time && a.at.size() >= least_rows;
  if (!is_clock || (year_first.at.size() >= a.at.size() && year_first.uneven() < least_of_others))
    return nullptr;
  return of_a <= most && of_b >= least_of_others   ? &a
         : of_b <= most && of_a >= least_of_others ? &b
                                                   : nullptr;
}

const char* orders_with_last_year(bool is_day_first) {
  return is_day_first ? "; data.date_order = \"dmy\" says that they stand last"
                      : "; data.date_order = \"dmy\" or \"mdy\" says that they stand last";
}

}  // namespace

const char* described(DateOrder order) {
  constexpr const char* words[] = {"of either order", "day/month/year", "month/day/year"};
  return words[static_cast<int>(order)];
}

// The column's times if its years of two digits stand first: 24/06/03.
static Reading with_year_first(CsvReader csv, const SeriesColumns& columns) {
  Reading reading = {DateOrder::unknown};
  each_row(csv, [&] {
    if (const auto time = parse_time("20" + std::string(cell_of(csv, columns.place(columns.time)))))
      reading.form = time->form, reading.at.push_back(time->count);
  });
  return reading;
}

// Weeks that are numbered may be those of a firm's own year.
static void note_weeks(const CsvReader& csv, SeriesColumns& columns) {
  const std::string_view cell = cell_of(csv, columns.place(columns.time));
  const auto time = columns.time_in(cell);
  if (time && columns.form == TimeForm::date && cell.size() == 6 && parse_number(cell))
    columns.notes.push_back(fmt::format("{}: weeks are ISO's, from Monday on: '{}' in line {} is read as {}",
                                        columns.called(columns.time), cell, csv.line(), to_text(*time)));
}

DateOrder order_of_dates(const CsvReader& at_first_row, SeriesColumns& columns,
                         const SeriesOptions& options) {
  CsvReader csv = at_first_row;
  note_weeks(csv, columns);
  if (options.date_order != DateOrder::unknown) return options.date_order;
  std::array readings = {Reading{DateOrder::day_first}, Reading{DateOrder::month_first}};
  ShortYears short_years;
  std::string cell;  // a cell that both orders fit
  bool are_needed = true;
  each_row(csv, [&] {
    const std::string_view now = cell_of(csv, columns.place(columns.time));
    if (columns.only >= 0 && cell_of(csv, columns.place(columns.only)) != columns.only_word) return true;
    if (parse_time(now) || !reads_as_date(now))  // the column has another form, if the first one does
      return are_needed = !readings[0].at.empty() || readings[0].alone + readings[1].alone > 0;
    const std::array times = {parse_time(now, readings[0].order), parse_time(now, readings[1].order)};
    for (std::size_t k = 0; k < 2; ++k) {
      if (times[k] && !times[1 - k] && ++readings[k].alone == 1)
        readings[k].cell = now, readings[k].line = csv.line();
      if (times[0] && times[1]) readings[k].form = times[k]->form, readings[k].at.push_back(times[k]->count);
    }
    if (const auto& time = times[0] ? times[0] : times[1]) short_years.add(now, *time, csv.line());
    if (times[0] && times[1] && cell.empty() && times[0]->count != times[1]->count) cell = now;
    return true;
  });
  if (!are_needed) return DateOrder::unknown;
  std::string why;
  const std::string column = columns.called(columns.time);
  const auto note = [&](DateOrder order) {
    if (!why.empty())
      columns.notes.push_back(fmt::format("{}: dates are read as {}, {}", column, described(order), why));
    if (const auto time = parse_time(short_years.cell, order))
      columns.notes.push_back(fmt::format("{}: '{}' in line {} is read as {}", column,
                                          one_line(short_years.cell), short_years.line, to_text(*time)));
    return order;
  };
  const bool is_last = short_years.are_last() || options.usual_order != DateOrder::unknown;
  if (!is_last && readings[0].alone + readings[1].alone == 0)
    if (const Reading* even = even_alone(readings[0], readings[1], with_year_first(at_first_row, columns))) {
      why = "in no other order are they evenly spaced";
      return note(even->order);
    }
  if (!is_last)
    throw InputError(
        fmt::format("{}:{}: {}: '{}' has a year of two digits, and no row tells which number it is: "
                    "write the years with four{}",
                    csv.origin(), short_years.line, column, one_line(short_years.cell),
                    options.model.empty() ? orders_with_last_year(readings[0].alone > 0) : ""));
  const Reading* found = chosen(readings[0], readings[1], why);
  if (found) return note(found->order);
  if (options.usual_order != DateOrder::unknown) {
    why = "as those of the rows that trained";
    return note(options.usual_order);
  }
  throw InputError(
      fmt::format("{}: {}: '{}' may be day/month/year or month/day/year, and no row tells which: {}",
                  csv.origin(), column, one_line(cell),
                  options.model.empty() ? "data.date_order = \"dmy\" or \"mdy\" does"
                                        : "write the year first, as in 2017-03-31"));
}

}  // namespace unroll
