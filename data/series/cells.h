// A cell of a series: a number, or that there is none.
#pragma once

#include <optional>
#include <string_view>

namespace unroll {

// That its value is missing: empty, NA, N/A, NaN, null or ?, in letters of either case.
bool says_missing(std::string_view cell);

// The number that a cell consists of, written with that mark before its decimals; infinite or NaN where a double cannot hold it,
// none if it is not one.
std::optional<double> parse_number(std::string_view cell, char decimal = '.');

}  // namespace unroll
