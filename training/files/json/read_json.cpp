#include "training/files/json/read_json.h"

#include <algorithm>

namespace unroll {

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

}  // namespace unroll
