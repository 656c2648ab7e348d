// JSON as text that is safe to show, and from files that anybody may have written: limits their depth and their numbers.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "framework/check.h"

namespace unroll {

// Escapes (\u202e) characters that act on a terminal. `json` is JSON text already.
std::string escaped_for_terminal(std::string_view json);

// The value in one line, or indented: all JSON is written through this. The result is printable UTF-8 whatever its strings
// hold: bytes that are not UTF-8 become U+FFFD, and characters that act on a terminal are escaped, which reads back as before.
template <class Json>
std::string json_text(const Json& json, int indent = -1) {
  return escaped_for_terminal(json.dump(indent, ' ', false, Json::error_handler_t::replace));
}

// JSON has no number that is not finite, so such a number becomes null.
template <class Json>
Json number_or_null(double number) {
  return std::isfinite(number) ? Json(number) : Json();
}

// Nesting of lists and objects. Ours have five levels; deep ones could exhaust the stack.
constexpr int deepest_json = 32;

// Returns a discarded value (is_discarded()) if the text is no JSON, or deeper than `deepest_json`.
nlohmann::ordered_json parse_json(std::string_view text);

// Limit of a count in a file. With 2^53, sums of a few never overflow, and programs that read numbers as floating point
// keep them exact.
template <class T>
constexpr T largest_count = sizeof(T) < sizeof(int64_t) ? T{1'000'000'000} : T(int64_t{1} << 53);

// A whole number from 0 to largest_count<T>. Throws Error for another kind of value, or one out of range.
template <class T>
T count_in(const nlohmann::ordered_json& json) {
  require(json.is_number_integer() && json >= 0 && json <= largest_count<T>,
          "not a whole number from 0 to {}", largest_count<T>);
  return json.get<T>();
}

// A path is bytes, and JSON is UTF-8: a path that is not UTF-8 becomes a list of its bytes.
nlohmann::ordered_json path_json(const std::filesystem::path& path);
// Throws nlohmann::json::exception if `json` is no path.
std::filesystem::path path_in(const nlohmann::ordered_json& json);

}  // namespace unroll
