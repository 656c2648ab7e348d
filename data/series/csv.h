// Comma-separated values as RFC 4180 describes them: rows of cells, each row with the line it begins in.
//
// Lines end with LF or CRLF; a byte-order mark is passed over; quotes enclose separators, line ends and,
// doubled, quotes. Blanks around a cell without quotes do not belong to it. Empty lines at the end do not
// count.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace unroll {

class CsvReader {
 public:
  // A row may have more cells than that: they are counted, and the header of a series is refused.
  static constexpr std::size_t most_columns = 1 << 20;

  // The text must outlive the reader; `origin` names it in errors. InputError: nothing but blanks, not UTF-8.
  CsvReader(std::string_view text, std::string origin, char separator = ',');

  // The next row into cells() and line(); false at the end. InputError with line and column (a cell's number,
  // from 1): a quote that is not closed, stands inside a cell without quotes, or is followed by text.
  bool next();
  const std::vector<std::string>& cells() const& { return cells_; }  // those that are kept
  std::vector<std::string> cells() const&& { return cells_; }
  const std::vector<bool>& quoted() const& { return quoted_; }  // by cell: it stands in quotes
  std::vector<bool> quoted() const&& { return quoted_; }
  int64_t count() const { return count_; }  // of the row's cells, also of those that are not kept
  int64_t line() const { return line_; }    // the row's first, from 1
  // From the next row on so many cells of each are kept, and those beyond only counted.
  void keep(std::size_t cells) { kept_ = cells; }

  const std::string& origin() const& { return origin_; }
  std::string origin() const&& { return origin_; }
  char separator() const { return separator_; }

 private:
  void skip_blanks();
  void read_quoted(std::string& cell, std::size_t column);
  void read_plain(std::string& cell, std::size_t column);
  std::string_view text_;
  std::string origin_;
  char separator_;
  std::vector<std::string> cells_;
  std::vector<bool> quoted_;  // by cell: it stands in quotes
  std::string beyond_;        // a cell that is not kept
  std::size_t kept_ = most_columns + 1;
  int64_t count_ = 0;
  std::size_t at_ = 0;     // the next byte
  int64_t line_ = 0;       // of the row in cells_
  int64_t next_line_ = 1;  // of the next byte
};

// A text as a cell that a CsvReader reads back: in quotes, where it needs them.
std::string csv_cell(std::string text);

}  // namespace unroll
