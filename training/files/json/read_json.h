// JSON from files, which anybody may have written: no deeper than ours ever is, and numbers only where they fit.
#pragma once

#include <cstdint>
#include <string_view>

#include <nlohmann/json.hpp>

#include "framework/check.h"

namespace unroll {

// Lists and objects in one another. Ours have five; what is built from more could take a program's whole stack.
constexpr int deepest_json = 32;

// Discarded (is_discarded()) where the text is no JSON, or deeper than `deepest_json`.
nlohmann::ordered_json parse_json(std::string_view text);

// A count or a number of something in a file: with 2^53 as the largest, sums of a few never overflow, and the numbers
// survive a program that reads them as floating point.
constexpr int64_t largest_count = int64_t{1} << 53;
// As above, for an int.
constexpr int largest_int_count = 1'000'000'000;

template <class T>
constexpr T largest_count_of = sizeof(T) < sizeof(int64_t) ? T{largest_int_count}
                                                           : static_cast<T>(largest_count);

// A whole number from 0 to largest_count_of<T>. Throws Error: it is another kind of value, or out of this range.
template <class T>
T count_in(const nlohmann::ordered_json& json) {
  require(json.is_number_integer() && json >= 0 && json <= largest_count_of<T>,
          "not a whole number from 0 to {}", largest_count_of<T>);
  return json.get<T>();
}

}  // namespace unroll
