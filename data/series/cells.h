// A cell of a series: a number, or that there is none.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace unroll {

// That its value is missing: empty, NA, N/A, NaN, null or ?, in letters of either case.
bool says_missing(std::string_view cell);

// The number that a cell consists of, written with that mark before its decimals; infinite or NaN where a double cannot hold it,
// none if it is not one.
std::optional<double> parse_number(std::string_view cell, char decimal = '.');

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
