// See cells.h.
#include "data/series/cells.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string>
#include <system_error>

namespace unroll {

bool says_missing(std::string_view cell) {
  constexpr std::size_t longest = 4;
  if (cell.size() > longest || (!cell.empty() && cell[0] >= '0' && cell[0] <= '9')) return false;
  constexpr std::array<std::string_view, 6> words = {"", "na", "n/a", "nan", "null", "?"};
  const auto same = [](char a, char b) { return a == b || (a >= 'A' && a <= 'Z' && a + ('a' - 'A') == b); };
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return std::equal(cell.begin(), cell.end(), word.begin(), word.end(), same);
  });
}

std::optional<double> parse_number(std::string_view cell, char decimal) {
  if (decimal != '.' && cell.find('.') != std::string_view::npos) return std::nullopt;
  if (decimal != '.' && cell.find(decimal) != std::string_view::npos) {
    std::string with_point(cell);
    std::replace(with_point.begin(), with_point.end(), decimal, '.');
    return parse_number(with_point);
  }
  double value = 0;
  if (cell.starts_with('+') && !cell.starts_with("+-")) cell.remove_prefix(1);
  const auto [stopped, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (stopped != cell.data() + cell.size() || error == std::errc::invalid_argument) return std::nullopt;
  // Out of range: infinite, or so small that it is 0.
  return error == std::errc() ? value : std::strtod(std::string(cell).c_str(), nullptr);
}

}  // namespace unroll
