// JSON values as text: the one way in which this project writes JSON.
#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include "framework/one_line.h"

namespace unroll {

// Escapes (\u202e) what acts on a terminal, in JSON that is text already.
std::string escaped_for_terminal(std::string_view json);

// The value in one line, or indented. Whatever its strings hold, the result is UTF-8 and can be printed: bytes that are not
// UTF-8 become U+FFFD, and what acts on a terminal is escaped, which reads back as it was.
template <class Json>
std::string json_text(const Json& json, int indent = -1) {
  return escaped_for_terminal(json.dump(indent, ' ', false, Json::error_handler_t::replace));
}

// JSON has no word for a number that is not finite.
template <class Json>
Json number_or_null(double number) {
  return std::isfinite(number) ? Json(number) : Json();
}

}  // namespace unroll
