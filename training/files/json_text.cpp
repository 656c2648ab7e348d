#include "training/files/json_text.h"

#include <fmt/format.h>

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

}  // namespace unroll
