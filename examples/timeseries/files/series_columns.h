// The columns of a series' file, and their roles.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "data/csv.h"
#include "examples/timeseries/series/series.h"
#include "framework/check.h"

namespace unroll {

// A cell of the reader's row; "": the row ends before it.
inline std::string_view cell_of(const CsvReader& csv, std::size_t place) {
  return place < csv.cells().size() ? csv.cells()[place] : std::string_view();
}

// Calls use() for the reader's row and each one after it, until it returns false or a row cannot be read, which is
// reported when that row's values are read. Returns whether all rows were used.
template <class Use>
bool each_row(CsvReader& csv, const Use& use) {
  try {
    do {
      if constexpr (std::is_void_v<decltype(use())>)
        use();
      else if (!use())
        return false;
    } while (csv.next());
    return true;
  } catch (const InputError&) { return false; }
}

struct SeriesColumns {
  std::vector<std::string> names;        // names of the file's columns, without row numbers
  int skipped = 0;                       // 1 if a column of row numbers comes first
  bool has_empty_end = false;            // the last column has neither a name nor values: none of `names`
  int time = -1;                         // indices into `names`; -1: none
  TimeForm form = TimeForm::number;      // the form of whole numbers in the column of times
  DateOrder order = DateOrder::unknown;  // for dates whose year comes last
  bool time_found = false;               // the options do not name `time`; its cells showed it
  std::vector<int> chosen;               // column by channel of the series
  int label = -1;                        // channel of the label; -1: none
  int id = -1;                           // column that names a row's series; -1: one series
  int only = -1;                         // column that selects rows; -1: all rows are read
  std::string only_word;                 // the word that selects
  std::unordered_map<std::string, int> places;  // index in `names` by name
  std::vector<std::string> notes;               // about a first column without a name
  std::string unread_time;  // a message about a cell that looks like a time; "": there is none

  std::size_t width() const { return names.size() + skipped; }                   // cells of a row
  std::size_t place(int column) const { return std::size_t(column + skipped); }  // in a row
  // "column 3 ('load')"
  std::string called(int column) const;
  // The time in a cell of the column of times; none if it has none.
  std::optional<Time> time_in(std::string_view cell) const { return time_in_column(cell, form, order); }
};

// Reads the header, and leaves the reader at the row below, which helps to understand it. Throws InputError like
// load_series: no header, no rows, names that are empty, repeated or unknown.
SeriesColumns read_columns(CsvReader& csv, const SeriesOptions& options);

// A file while its rows are read. The reader stands at a row.
struct SeriesText {
  std::string_view text;  // of the whole file
  const CsvReader& csv;
  const SeriesColumns& columns;
  const SeriesOptions& options;

  std::string_view cell(int column) const { return csv.cells()[columns.place(column)]; }
  CsvReader at_first_row() const {
    CsvReader first(text, csv.origin(), csv.separator());
    first.next(), first.next();
    return first;
  }
  // A message about the row's cell in a column, with file and line; refuse() throws it as InputError.
  template <class... Args>
  std::string about(int column, fmt::format_string<Args...> format, Args&&... args) const {
    return fmt::format("{}:{}: {}: {}", csv.origin(), csv.line(), columns.called(column),
                       fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  [[noreturn]] void refuse(int column, fmt::format_string<Args...> format, Args&&... args) const {
    throw InputError(about(column, format, std::forward<Args>(args)...));
  }
};

// The order of day and month in the column of times: as the options say. Else as a day after the 12th, the rows'
// order or their even spacing shows, from the reader's row (the first) on; a note says which. Unknown if its dates
// need none. Throws InputError, with the column, if both orders fit.
DateOrder order_of_dates(const CsvReader& at_first_row, SeriesColumns& columns, const SeriesOptions& options);
// "day/month/year"
const char* described(DateOrder order);

// Whether no row from the reader's on has a value in a column; whether all, two or more, have the reader's cell; whether whole numbers that
// are no years stand first in each.
bool is_empty_column(CsvReader csv, std::size_t place);
bool is_constant_column(CsvReader csv, std::size_t place);
bool numbers_rows(CsvReader csv);
// Whether a name is rather a value: a number, a date, or a word for a missing value.
bool reads_as_value(const std::string& name, char decimal);
// Throws InputError with the line that names the columns, if a title or a remark stands above it. It has more cells, all words, or
// years in turn behind them, and the row below it has a value. A last cell without a name does not count. MendableFile: rows below it
// that are above the first of values hold units, metadata, or a total.
void require_names_first(CsvReader at_first_row, const std::vector<std::string>& header,
                         const SeriesOptions& options);

// Throws MendableFile if rows without a time stand below the names, and rows with one in the first column below them: metadata, or a
// total.
void require_times_from_first_row(CsvReader csv, const std::string& called);
// Throws InputError if a column has years, quarters, months or days in turn. MendableFile: each form has one block of rows, and the finest
// the most; or years stand below metadata.
void require_one_form(CsvReader at_first_row, const std::vector<std::string>& header,
                      const SeriesOptions& options);
// Whether a cell looks like a date, or has a year among other letters: Season 1980/81.
bool looks_like_a_year(std::string_view cell);
// Throws MendableFile if blanks stand around the names, at the reader's row.
void require_no_blanks(const CsvReader& at_names);
// Throws MendableFile if names stand below, this one among them, of another table.
void require_no_table_below(CsvReader at_first_row, const std::string& name);
// Throws MendableFile with the message if the rows, of which no two have one time and series, are a step apart once they are sorted. Not
// if days and months may be mistaken for each other.
void require_sorted(const SeriesText& file, const std::string& message);
// Throws MendableFile if some rows of a file without times are empty, or titles in the first column.
void require_no_empty_rows(const SeriesText& file);
// Throws MendableFile if a day of the week never has a value, and the others mostly do.
void require_no_idle_weekday(const Series& series);
// Throws MendableFile with the message if all cells of the column are numbers with units of one kind; InputError if of several.
void require_one_unit(const SeriesText& file, int column, const std::string& message);
// Throws MendableFile if nearly all cells of a column are months without a zero, 2004/1, or quarters so; of one of the first four.
// Not if the row has a date.
void require_whole_months(const CsvReader& at_first_row, const std::vector<std::string>& names);
// Throws MendableFile with the message if the row's cell is <N or >N, the limit of an instrument or a count: half of N, or N.
void require_no_limits(const SeriesText& file, int column, const std::string& message);
// Throws MendableFile with the message if no time stands twice once rows without a value are left out whose time another row
// has.
void require_one_row_a_time(const SeriesText& file, const std::string& message);
// Throws MendableFile with the message if the reader's row and the two below it, at most, end the file, and their times are years or
// numbers: a footer.
void require_same_form(const SeriesText& file, const std::string& message);
// Throws MendableFile if no row but titles has a cell in the first column, from the row of names on.
void require_no_empty_begin(CsvReader at_names);

// The begin of 07:00-08:00, or of two times with a dash between blanks, of which the first may have a date.
std::optional<std::string_view> begin_of_interval(std::string_view cell);
// Throws MendableFile if the column holds intervals of time.
void require_no_intervals(CsvReader at_first_row, std::size_t place, const std::string& called);

// Among names fewer times may be there by chance.
constexpr int least_times = 4;
// Throws InputError if nobody names columns and most names are times, or parts of a year: the table lies on its side. MendableFile:
// a row a year, a column a year, or a row a series.
void require_upright(const CsvReader& csv, const std::vector<std::string>& names,
                     const SeriesOptions& options, bool has_empty_end);

// Throws MendableFile if a row is a day and 12 columns or more its times of day, or 24 its hours: H01 to H24; or a row a week and the
// columns its days.
void require_no_wide_days(const CsvReader& csv, const std::vector<std::string>& names);

// Throws MendableFile: the column at a place, from 1, has neither a name nor cells. Another table may stand behind it, with times of its
// own; that of fewer rows is left out.
[[noreturn]] void refuse_empty_column(CsvReader at_first_row, std::size_t place);

// The advice where a row of a file with commas has more cells than its header.
constexpr const char* split_by_decimal_commas =
    "perhaps its numbers have decimal commas without quotes: put them in quotes, or ';' between the cells";
// Throws InputError if two neighbouring columns may be one such number. All rows, at least 8, have whole numbers in both; the second
// has one or two digits, the same count everywhere, and three values or more; the row's first cell is not in quotes. `csv`: at the first row; `names`: of the header, one less than its cells.
void require_no_split_numbers(CsvReader csv, std::size_t names);

// Throws MendableFile: one of the first columns holds times or parts of them, and marks behind some: 2024*, Feb (p).
void require_no_marked_times(const CsvReader& csv, const std::vector<std::string>& names);

// Throws MendableFile: one of the first columns has years of two that follow each other: 2010-11, 2011-12.
void require_no_split_years(const CsvReader& csv, const std::vector<std::string>& names);

// The first of two years: 2014-2015, 2014/15; 2010-11, which may be a month, too. None: it names no two.
std::optional<int> first_of_years(std::string_view cell);

// Whether two years follow each other.
bool are_neighbours(const Time& a, const Time& b);
// Throws InputError with how to write the time in one column, if each row has it in several: a date and an hour, or a year and a
// month. Not if the column of times, or without one a column of years, makes no ascending times with others.
void require_time_in_one_column(const SeriesText& file);

// Throws InputError that says which column names the series of a file that has several, or which two, and how to read one of them.
// Not if the times ascend, or no column makes them.
void require_one_series(const SeriesText& file);

// Throws InputError with the rows to delete if the first column, of a file without times, has words for totals, or years among
// months. Not if most rows are such.
void require_no_totals(const SeriesText& file);
// Throws MendableFile if two columns together are called so.
void require_joined_id(const CsvReader& csv, const std::vector<std::string>& names, int skipped,
                       const std::string& id);
// Throws MendableFile if the reader's row is a total, and the one below it begins with a time.
void require_no_total_first(const CsvReader& at_first_row);
// Rows without times may end with their sums. Throws MendableFile then.
void require_no_sums(const Series& series);
// Numbers of nines or eights that repeat, below all others by their range, or above them by three times it, stand for missing values:
// -99.9, 9999, -888.88. Throws MendableFile.
void require_no_stand_ins(const SeriesText& file, const Series& series);
// Rows at the end may be events or footnotes: they have no value, lie more than a step below the others, and have a cell in a column that
// is empty above them. Throws MendableFile.
void require_no_events(const SeriesText& file, const Series& series);
// Whether a label says that its row is a sum or mean of others: "Grand Total", "Total 2018", "Mittelwert", "North Total".
bool says_total(std::string_view label);

}  // namespace unroll
