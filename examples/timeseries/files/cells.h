// A cell of a series: a number, or that there is none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace unroll {

// That its value is missing: empty, NA, N/A, NaN, null or ?, in letters of either case.
bool says_missing(std::string_view cell);

// The number that a cell consists of, written with that mark before its decimals; infinite or NaN where a double cannot hold it,
// none if it is not one.
std::optional<double> parse_number(std::string_view cell, char decimal = '.');

// How the numbers of a file are written.
struct NumberMarks {
  char decimal = '.';     // before the decimals
  char thousands = '\0';  // between groups of three digits: a point or a comma; 0: neither
};
// The other one of point and comma.
inline char other_mark(char mark) { return mark == '.' ? ',' : '.'; }

// A number as people write it: $1,234.50, 12.5 %, (12) for -12, 1 234, 1'234.
struct WrittenNumber {
  double value = 0;
  std::string_view unit = {};  // a sign of currency or %; "": none
};
// None: it is not one. Blanks and apostrophes stand between groups of three digits whatever the marks are.
std::optional<WrittenNumber> written_number(std::string_view cell, NumberMarks marks);

// Finds the marks of a file's numbers from its cells.
class MarkFinder {
 public:
  void add(std::string_view cell);
  // The mark before the decimals, as most cells have it that can be read with one mark alone. If no cell decides, a comma
  // between the cells stands for the point. None: ambiguous, as 1,495 between semicolons is.
  std::optional<char> decimal(char separator) const;
  // Beside that decimal mark: the other one, if cells may have it between groups of three digits, else 0.
  char thousands(char decimal) const { return decimal == '.' ? grouped_by_comma_ : grouped_by_point_; }
  // The first cell that may be read with either mark.
  const std::string& either() const { return either_; }

 private:
  int64_t points_ = 0, commas_ = 0;  // cells that are numbers with this decimal mark alone
  char grouped_by_point_ = '\0', grouped_by_comma_ = '\0';
  std::string either_;
};

// Whether numbers in their order may be times or may number the rows: whole ones that ascend or descend throughout, others that
// do so by equal steps.
class NumberOrder {
 public:
  void add(std::optional<double> number);  // none: the cell is no number
  // "whole numbers that ascend"; "": they are in no order, or fewer than 8, which may be in order by chance
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

// The same of the form that most numbers have, in a tenth of the time: a minus or none, at most 15 digits, a mark among them or none.
// They and the power of ten that they are divided by are exact, so that the quotient is the nearest double. None: any other cell.
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
