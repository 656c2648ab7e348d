// JSON values as text. The project writes all JSON through this.
#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include "framework/one_line.h"

namespace unroll {

// Escapes (\u202e) characters that act on a terminal. `json` is JSON text already.
std::string escaped_for_terminal(std::string_view json);

// The value in one line, or indented. The result is printable UTF-8 whatever its strings hold: bytes that are not UTF-8
// become U+FFFD, and characters that act on a terminal are escaped, which reads back as before.
template <class Json>
std::string json_text(const Json& json, int indent = -1) {
  return escaped_for_terminal(json.dump(indent, ' ', false, Json::error_handler_t::replace));
}

// JSON has no number that is not finite, so such a number becomes null.
template <class Json>
Json number_or_null(double number) {
  return std::isfinite(number) ? Json(number) : Json();
}

}  // namespace unroll
