// Which columns the file of a series has, and which of them are read.
#pragma once

#include <string>
#include <vector>

#include "data/csv.h"
#include "data/series.h"

namespace unroll {

struct SeriesColumns {
  std::vector<std::string> names;  // of the file's columns, without the row numbers
  int skipped = 0;                 // 1 if row numbers stand before them
  int time = -1;                   // indices into `names`; -1: none
  std::vector<int> chosen;         // by channel of the series
  int label = -1;                  // the channel that is the label; -1: none
  std::vector<std::string> notes;  // on a first column without a name

  // The place of that column in the reader's row, for messages: file, line, column and name.
  std::string where(const CsvReader& csv, int column) const;
};

// Reads the header, and leaves the reader at the row below it, which says what the header means. InputError,
// as load_series has it: no header, no rows, names that are empty, repeated or unknown.
SeriesColumns read_columns(CsvReader& csv, const SeriesOptions& options);

}  // namespace unroll
