// Which columns the file of a series has, and which of them are read.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/csv.h"
#include "examples/timeseries/series/series.h"

namespace unroll {

struct SeriesColumns {
  std::vector<std::string> names;               // of the file's columns, without the row numbers
  int skipped = 0;                              // 1 if row numbers stand before them
  int time = -1;                                // indices into `names`; -1: none
  TimeForm form = TimeForm::number;             // that whole numbers in the column of times stand for
  DateOrder order = DateOrder::unknown;         // of its dates whose year comes last
  bool time_found = false;                      // nobody named that column: it was found by its cells
  std::vector<int> chosen;                      // by channel of the series
  int label = -1;                               // the channel that is the label; -1: none
  int id = -1;                                  // the column that names the series of a row; -1: there is one
  std::vector<int> categories;                  // by category of the series
  int only = -1;                                // the column that says which rows are read; -1: all are
  std::string only_word;                        // which it must hold
  std::unordered_map<std::string, int> places;  // of `names`
  std::vector<std::string> notes;               // on a first column without a name

  // The place of that column in the reader's row, for messages: file, line, column and name.
  std::string where(const CsvReader& csv, int column) const;
};

// Reads the header, and leaves the reader at the row below it, which says what the header means. InputError,
// as load_series has it: no header, no rows, names that are empty, repeated or unknown.
SeriesColumns read_columns(CsvReader& csv, const SeriesOptions& options);

// The time in a cell of the column of times; none if it says none.
std::optional<Time> time_in(std::string_view cell, const SeriesColumns& columns);
// "dates": of a form, for messages.
const char* times_called(TimeForm form);

// The order of day and month in the column of times, whose first row the reader is at: what the options say; else the one that
// a day after the 12th, the order of the rows or their even spacing shows, of all rows from there on; a note says which.
// Unknown if its dates need none. InputError, with the column: both may be.
DateOrder order_of_dates(const CsvReader& at_first_row, SeriesColumns& columns, const SeriesOptions& options);
// "day/month/year"
const char* described(DateOrder order);

// Names as a recipe lists them, of a long list the first ones: ["load", "noise"]
std::string toml_list(const std::vector<std::string>& names);
// "data.time = \"when\"": a line of a recipe.
std::string toml_line(std::string_view key, std::string_view value);

// The rows of several series, in one file: which column names them, and how to read one of them. None if the times
// ascend, or no column makes them.
std::optional<std::string> several_series(std::string_view text, const SeriesColumns& columns,
                                          const CsvReader& csv, const SeriesOptions& options);

}  // namespace unroll
