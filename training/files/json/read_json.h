// JSON from files that anybody may have written: limits its depth and its numbers.
#pragma once

#include <cstdint>
#include <string_view>

#include <nlohmann/json.hpp>

#include "framework/check.h"

namespace unroll {

// Nesting of lists and objects. Ours have five levels; deep ones could exhaust the stack.
constexpr int deepest_json = 32;

// Returns a discarded value (is_discarded()) if the text is no JSON, or deeper than `deepest_json`.
nlohmann::ordered_json parse_json(std::string_view text);

// Limit of a count in a file. With 2^53, sums of a few never overflow, and programs that read numbers as floating point
// keep them exact.
constexpr int64_t largest_count = int64_t{1} << 53;
// As above, for an int.
constexpr int largest_int_count = 1'000'000'000;

template <class T>
constexpr T largest_count_of = sizeof(T) < sizeof(int64_t) ? T{largest_int_count}
                                                           : static_cast<T>(largest_count);

// A whole number from 0 to largest_count_of<T>. Throws Error for another kind of value, or one out of range.
template <class T>
T count_in(const nlohmann::ordered_json& json) {
  require(json.is_number_integer() && json >= 0 && json <= largest_count_of<T>,
          "not a whole number from 0 to {}", largest_count_of<T>);
  return json.get<T>();
}

}  // namespace unroll
