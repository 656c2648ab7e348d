// See one_line.h; and the errors of check.h, whose messages are one line.
#include "framework/one_line.h"

#include <cstdint>
#include <cstring>

#include <fmt/format.h>

#include "framework/check.h"

namespace unroll {

Error::Error(const std::string& message) : std::runtime_error(printable(message)) {}

void throw_error(fmt::string_view format, fmt::format_args args) { throw Error(fmt::vformat(format, args)); }

void throw_input_error(fmt::string_view format, fmt::format_args args) {
  throw InputError(fmt::vformat(format, args));
}

std::size_t code_point_size(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return first == 0 ? 0 : 1;
  const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  // Longer than needed, a surrogate, or beyond the last code point.
  const unsigned second = byte(1);
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
      (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) {
    return 0;
  }
  return size;
}

std::size_t utf8_size(std::string_view text) {
  constexpr uint64_t ones = 0x0101010101010101u;
  for (std::size_t at = 0; at < text.size();) {
    uint64_t eight = 0;  // most bytes are ASCII
    if (text.size() - at >= sizeof eight) std::memcpy(&eight, text.data() + at, sizeof eight);
    const bool are_ascii = eight != 0 && ((eight | (eight - ones)) & 0x80 * ones) == 0;
    const std::size_t size = are_ascii ? sizeof eight : code_point_size(text.substr(at));
    if (size == 0) return at;
    at += size;
  }
  return text.size();
}

std::string_view beginning(std::string_view text, std::size_t at_most) {
  if (text.size() <= at_most) return text;
  std::size_t end = at_most;
  while (end > 0 && at_most - end < 3 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  const std::size_t size = code_point_size(text.substr(end));
  return text.substr(0,
                     end + size > at_most ? end : at_most);  // the latter where there is no code point to cut
}

bool acts_on_terminal(std::string_view code_point) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(code_point[i]); };
  if (code_point.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7F;
  if (code_point.size() == 2)  // U+0080 to U+009F, U+061C
    return (byte(0) == 0xC2 && byte(1) < 0xA0) || code_point == "\u061C";
  if (code_point.size() != 3 || byte(0) != 0xE2) return false;
  const bool from_2000 = byte(1) == 0x80, from_2040 = byte(1) == 0x81;
  return (from_2000 && (byte(2) == 0x8E || byte(2) == 0x8F)) ||  // U+200E, U+200F
         (from_2000 && byte(2) >= 0xA8 && byte(2) <= 0xAE) ||    // U+2028 to U+202E
         (from_2040 && byte(2) >= 0xA6 && byte(2) <= 0xA9);      // U+2066 to U+2069
}

bool looks_like_nothing(std::string_view code_point) {
  if (code_point == "\u00A0" || code_point == "\u00AD" || code_point == "\uFEFF") return true;
  if (code_point.size() != 3) return false;
  return (code_point >= "\u2000" && code_point <= "\u200B") || code_point == "\u202F" ||
         (code_point >= "\u205F" && code_point <= "\u2064");
}

std::string printable(std::string_view text, std::string_view keep) {
  std::string result;
  result.reserve(text.size());
  for_each_character(text, [&](std::string_view part, bool shown) {
    result += (shown && !looks_like_nothing(part)) || keep.find(part) != keep.npos ? part : "?";
  });
  return result;
}

std::string one_line(std::string_view text, std::size_t at_most) {
  const std::string result = printable(beginning(text, at_most));
  return text.size() > at_most ? result + "..." : result;
}

std::string toml_string(std::string_view text) {
  std::string result = "\"";
  for_each_character(text, [&](std::string_view part, bool) {
    const unsigned first = static_cast<unsigned char>(part[0]);
    if (part == "\"" || part == "\\") {
      result += '\\';
      result += part;
    } else if (part == "\t") {
      result += "\\t";
    } else if (acts_on_terminal(part)) {  // all of these have three bytes at most
      unsigned code = part.size() == 1 ? first : part.size() == 2 ? first & 0x1F : first & 0x0F;
      for (const char c : part.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3F);
      result += fmt::format("\\u{:04X}", code);
    } else {
      result += part;
    }
  });
  return result + '"';
}

}  // namespace unroll
