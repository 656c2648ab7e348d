// Cells of a series: numbers and words for a missing value.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace unroll {

// Whether the cell says that its value is missing: empty, NA, N/A, n.a., k.A., #N/A, #NV, NaN, null, ?, a point or a dash, in letters of
// either case.
bool says_missing(std::string_view cell);

// The number in a cell, with this decimal separator; infinite or NaN if a double cannot hold it. None: no number.
std::optional<double> parse_number(std::string_view cell, char decimal = '.');

// How the numbers of a file are written.
struct NumberMarks {
  char decimal = '.';     // decimal separator
  char thousands = '\0';  // separator of three digits: point, comma, or 0 for neither
};
// The other of point and comma.
inline char other_mark(char mark) { return mark == '.' ? ',' : '.'; }

// A number as people write it: $1,234.50, 12.5 %, (12) for -12, 1 234, 1'234.
struct WrittenNumber {
  double value = 0;
  std::string_view unit = {};  // a currency sign or %; "": none
};
// None: the cell is no number. Blanks and apostrophes may separate groups of three digits whatever the marks are.
std::optional<WrittenNumber> written_number(std::string_view cell, NumberMarks marks);
// Whether words stand for missing values: one in twenty rows at most, or at most three different ones in half of them.
inline bool are_few_words(int64_t words, int64_t different, int64_t rows) {
  return 20 * words <= rows || (different <= 3 && 2 * words <= rows);
}
// A cell without the mark beside its number that says provisional, revised, estimated or a break, as in "1,234 (p)", "12*", "5.1 r" and
// "p 7".
std::string_view without_mark(std::string_view cell);
// The number of "<1", "< 1" or ">30"; else the cell.
std::string_view without_limit(std::string_view cell);
// A cell to be shown, with plain blanks in place of no-break and thin ones.
std::string with_plain_blanks(std::string_view cell);
// Whether a cell may be a length of time: 70:49, 1:05:30.
bool is_duration(std::string_view cell);
// How to write a cell that is a number but for what stands around it: "write -113", "delete the mark". "": it is none.
// `below_numbers`: the cells above it are numbers without this unit, so the advice is to convert this one.
std::string how_to_mend(std::string_view cell, NumberMarks marks, bool below_numbers);

// The number and the unit behind it: 788 MiB, 12.5kWh. None: the cell is no such thing.
std::optional<std::pair<std::string_view, std::string_view>> with_unit(std::string_view cell,
                                                                       NumberMarks marks);
// As above, with either mark of decimals, the number alone. "": the cell is no such thing.
std::string_view number_before_unit(std::string_view cell);
// How many of the smallest each unit is, if they are of one kind, as KiB and MiB; a single one is of one. Empty: they are of several.
std::map<std::string, double, std::less<>> unit_sizes(const std::set<std::string>& units);

// Finds the marks of a file's numbers: each column adds its cells, and those of numbers are joined.
class MarkFinder {
 public:
  void add(std::string_view cell);
  void join(const MarkFinder& column);
  // The decimal separator of most cells that can be read with only one. If no cell decides, a comma between cells
  // means a point in numbers. None: ambiguous, such as 1,495 between semicolons; also where other columns alone decide
  // for decimals, and 1.495 stands beside whole numbers.
  std::optional<char> decimal(char separator) const;
  // The separator of digit groups with this decimal separator: the other mark if cells may use it so, else 0.
  char thousands(char decimal) const { return decimal == '.' ? grouped_by_comma_ : grouped_by_point_; }
  bool has_decimal_commas() const { return has_decimal_commas_; }
  // A cell with groups of digits. "": there is none.
  const std::string& grouped() const { return grouped_; }
  // The first cell that can be read with either separator.
  const std::string& either() const { return either_; }

 private:
  int64_t points_ = 0, commas_ = 0;  // cells that are numbers only with this decimal separator
  int64_t whole_ = 0, others_ = 0;   // cells without either mark that are numbers; cells that are none
  int64_t eithers_ = 0;              // cells that can be read with either separator
  int64_t zeros_ = 0;                // of these that end with 0
  bool doubtful_ = false;            // a column has `either_` beside whole numbers, and no cell that decides
  bool has_decimal_commas_ = false;  // a cell is 5,3
  char grouped_by_point_ = '\0', grouped_by_comma_ = '\0';
  std::string either_, grouped_;
};

// Whether a column of numbers may be times or row numbers: whole numbers that ascend or descend throughout, or
// others that do so by equal steps.
class NumberOrder {
 public:
  void add(std::optional<double> number);  // none: the cell is no number
  // "whole numbers that ascend". "": they have no order, or are fewer than 8, which may be ordered by chance.
  std::string described() const;
  bool is_ordered() const { return ascends_ || descends_; }
  bool ascends() const { return ascends_; }
  bool is_whole() const { return whole_; }
  bool is_even() const { return even_; }

 private:
  bool ascends_ = true, descends_ = true, whole_ = true, even_ = true;
  int64_t count_ = 0;
  double last_ = 0, step_ = 0;
};

// parse_number for the form that most numbers have, in a tenth of the time: an optional minus, at most 15 digits,
// at most one decimal separator. Digits and their power of ten are exact in double, so the quotient is the nearest
// double. None: any other cell.
inline std::optional<double> plain_decimal(std::string_view cell, char decimal) {
  constexpr double powers[] = {1,   1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                               1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  constexpr std::ptrdiff_t most = 15;
  const char *at = cell.data(), *const end = at + cell.size();
  const bool minus = at != end && *at == '-';
  at += minus;
  if (end - at > most + 1) return std::nullopt;  // a sum of so many digits does not overflow
  const char* const first = at;
  int64_t value = 0;
  for (; at != end && *at >= '0' && *at <= '9'; ++at) value = 10 * value + (*at - '0');
  std::ptrdiff_t digits = end - first, decimals = 0;
  if (at != end) {
    if (*at++ != decimal) return std::nullopt;
    decimals = end - at, --digits;
    for (; at != end && *at >= '0' && *at <= '9'; ++at) value = 10 * value + (*at - '0');
    if (at != end) return std::nullopt;
  }
  if (digits == 0 || digits > most) return std::nullopt;
  const double number = static_cast<double>(value) / powers[decimals];
  return minus ? -number : number;
}

}  // namespace unroll
