// Comma-separated values as RFC 4180 describes them: rows of cells, each row with the line it begins in.
//
// Lines end with LF or CRLF; a byte-order mark is passed over; quotes enclose separators, line ends and,
// doubled, quotes. Blanks around a cell without quotes do not belong to it. Lines at the end that are empty, or hold
// separators alone, do not count; nor do empty lines above the first row or, where it has several cells, between rows; nor a first
// line "sep=;", as spreadsheets write it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/check.h"

namespace unroll {

// A quote that is not closed, stands inside a cell without quotes, or is followed by text.
struct CsvQuoteError : InputError {
  CsvQuoteError(const std::string& message, int64_t row_line, char of_cells)
      : InputError(message), line(row_line), separator(of_cells) {}
  int64_t line;    // that its row begins in, from 1
  char separator;  // of cells
};

class CsvReader {
 public:
  // A row may have more cells than that: they are counted, and the header of a series is refused.
  static constexpr std::size_t most_columns = 1 << 20;

  // The text must outlive the reader; `origin` names it in errors. InputError: nothing but blanks, not UTF-8.
  CsvReader(std::string_view text, std::string origin, char separator = ',');

  // The next row into cells() and line(); false at the end. CsvQuoteError with line and column (a cell's number, from 1).
  bool next();
  // The cells that are kept. They point into the text; a cell with quotes inside quotes points into the reader, and lives until
  // the next row, or as long as a copy of the reader made in this row.
  const std::vector<std::string_view>& cells() const& { return cells_; }
  std::vector<std::string_view> cells() const&& = delete;
  std::vector<bool> quoted() const;         // by cell: it stands in quotes
  int64_t count() const { return count_; }  // of the row's cells, also of those that are not kept
  int64_t line() const { return line_; }    // the row's first, from 1
  int64_t lines() const { return lines_; }  // of the text: no more rows than that
  // From the next row on so many cells of each are kept, and those beyond only counted.
  void keep(std::size_t cells) { kept_ = cells; }

  const std::string& origin() const& { return origin_; }  // the text's name in errors
  std::string origin() const&& { return origin_; }
  char separator() const { return separator_; }  // of cells

 private:
  void skip_blanks();
  void pass_empty_lines();
  std::string_view read_quoted(std::size_t column);
  std::string_view read_plain(const char* end_of_line, std::size_t column);
  std::string_view text_;
  std::string origin_;
  char separator_;
  bool has_quotes_ = false;
  std::vector<std::string_view> cells_;
  std::vector<std::size_t> quoted_;                         // cells in quotes
  std::vector<std::shared_ptr<const std::string>> inside_;  // cells with quotes in them
  std::size_t kept_ = most_columns + 1;
  int64_t count_ = 0, first_count_ = 0;  // of this row and of the first; 0: none is read
  std::size_t at_ = 0;                   // the next byte
  int64_t lines_ = 1;
  int64_t line_ = 0;       // of the row in cells_
  int64_t next_line_ = 1;  // of the next byte
};

// A line of this byte alone is no row, also where an empty line is one: it keeps the numbers of the lines below it.
constexpr char no_row = '\x18';

// A text as a cell that a CsvReader with this separator reads back: in quotes, where it needs them.
std::string csv_cell(std::string text, char separator = ',');

}  // namespace unroll
