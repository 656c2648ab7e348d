#include "training/files/json/json.h"

#include <algorithm>
#include <vector>

#include "framework/one_line.h"

namespace unroll {

std::string escaped_for_terminal(std::string_view json) {
  std::string result;
  result.reserve(json.size());
  for_each_character(json, [&](std::string_view part, bool shown) {
    if (shown || part == "\n") {
      result += part;
      return;
    }
    unsigned code = static_cast<unsigned char>(part[0]);  // at most three bytes: none is beyond U+2069
    if (part.size() > 1) code &= part.size() == 2 ? 0x1F : 0x0F;
    for (std::size_t i = 1; i < part.size(); ++i)
      code = code << 6 | (static_cast<unsigned char>(part[i]) & 0x3F);
    result += fmt::format("\\u{:04x}", code);
  });
  return result;
}

// Counts brackets outside of strings. Text with unbalanced ones is no JSON, so its depth does not matter.
static int depth_of(std::string_view text) {
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size() && deepest <= deepest_json; ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

nlohmann::ordered_json parse_json(std::string_view text) {
  if (depth_of(text) > deepest_json) return nlohmann::ordered_json::value_t::discarded;
  return nlohmann::ordered_json::parse(text, nullptr, false);
}

nlohmann::ordered_json path_json(const std::filesystem::path& path) {
  const std::string text = path.string();
  if (is_utf8(text)) return text;
  return std::vector<uint8_t>(text.begin(), text.end());
}

std::filesystem::path path_in(const nlohmann::ordered_json& json) {
  if (json.is_string()) return json.get<std::string>();
  const std::vector<uint8_t> bytes = json;
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace unroll
